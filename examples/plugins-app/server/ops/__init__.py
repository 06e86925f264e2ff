"""What the example needs beside its configuration: a model without a key, and the APIs that its plugins call."""
