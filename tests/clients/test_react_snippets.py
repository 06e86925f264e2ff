"""The React code of README, Quickstart and how-to as a person pastes it: it answers, keeps its thread, and compiles."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.clients import test_react_app as board
from tests.docs.blocks import ROOT, read_blocks

HERE = Path(__file__).parent
QUICK = "models: {default: {type: scripted, chunk_delay: 0}}\n"
HEAD = """import {{ {names} }} from "@copilotkit/react-core/v2";

export function Part() {{
{code}
  return null;
}}
"""

pytestmark = pytest.mark.clients


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md"])
def test_the_page_answers_and_keeps_its_conversation(page: str, tmp_path: Path) -> None:
    node, browser = board.find_programs()
    app, server = tmp_path / "app", tmp_path / "server"
    server.mkdir()
    (server / "rightseat.yaml").write_text(QUICK)
    shutil.copytree(board.EXAMPLE, app, ignore=shutil.ignore_patterns("node_modules", "dist", "server", "src"))
    (app / "node_modules").symlink_to(board.install())
    (app / "src").mkdir()
    main = (board.EXAMPLE / "src" / "main.jsx").read_text()
    (app / "src" / "main.jsx").write_text(main.replace("{ App }", "App"))
    (app / "src" / "styles.css").touch()
    with board.serving(server) as runtime:
        (app / "src" / "App.jsx").write_text(react_code(page).replace("http://127.0.0.1:8000", runtime))
        board.run(["npm", "run", "build", "--", "--logLevel", "error"], app)
        with board.pages(app / "dist") as url:
            environ = os.environ | {"CHROMIUM": browser}
            seen = json.loads(board.run([node, HERE / "react-snippet.mjs", app, url], app, environ))

    assert "Where is the list." in seen["first"]
    assert seen["reloaded"] == seen["first"]
    assert seen["complaints"] == []


def test_the_approval_compiles_with_strict_typescript(tmp_path: Path) -> None:
    board.find_programs()
    packages, compiler = board.install(), board.install(ROOT / "console")
    (tmp_path / "node_modules").symlink_to(packages)
    (tmp_path / "types").symlink_to(compiler / "@types")
    blocks = read_blocks(ROOT / "docs" / "how-to" / "copilotkit.md")
    (code,) = [block.code for block in blocks if block.code.startswith("useInterrupt({")]
    (tmp_path / "Part.tsx").write_text(HEAD.format(names="useInterrupt", code=code))
    options = {
        "strict": True,
        "noEmit": True,
        "skipLibCheck": True,
        "jsx": "react-jsx",
        "module": "esnext",
        "moduleResolution": "bundler",
        "target": "es2022",
        "typeRoots": ["types"],
        "types": ["react"],
    }
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "files": ["Part.tsx"]}))

    board.run(["node", compiler / "typescript" / "bin" / "tsc", "-p", "."], tmp_path)


def react_code(page: str) -> str:
    (code,) = [block.code for block in read_blocks(ROOT / page) if block.language == "jsx"]
    return code
