"""`python -m rightseat` is the command `rightseat`."""

from rightseat.cli import main

if __name__ == "__main__":
    main()
