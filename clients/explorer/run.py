"""Runs the tests of mcp-embedded-ui against Candor: run.py TESTS.

Prints `ok NAME` for each test that ends as expected. `decisions.json` has the tests that must fail, each with the decision of ours
that it contradicts. The run fails if another test fails, if one of these passes, or if one of these is missing.
"""

import json
import sys
from pathlib import Path

import httpx
import mcp_embedded_ui
import pytest

DECISIONS = json.loads(Path(__file__).with_name("decisions.json").read_text())

# The number of tests in the pinned release. With fewer, some tests did not run.
TESTS = 65


class Results:
    def __init__(self):
        self.passed = {}
        self.why = {}

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.split("::", 1)[1]
        self.passed[name] = self.passed.get(name, True) and report.passed
        if report.failed:
            self.why[name] = report.longreprtext

    def pytest_runtest_teardown(self):
        mcp_embedded_ui.close_all()


def expected():
    """Returns the tests that must fail, by name, with the decision that each contradicts."""
    return {name: row["decision"] for row in DECISIONS for name in row["tests"]}


def write_page(tests):
    """Writes our pages to the path where the tests look for theirs: the pages of a tool, with scripts."""
    class Tool:
        name, description, annotations = "echo", "", None
        inputSchema = {"type": "object", "properties": {"msg": {"type": "string"}}, "required": ["msg"]}

    server = mcp_embedded_ui.Candor([Tool], None, None, {"allow_execute": True})
    paths = ["/", "/ui/tools/echo", "/ui/assets/console.js", "/ui/assets/tool.js"]
    pages = [httpx.get(server.origin + path) for path in paths]
    assert all(page.status_code == 200 for page in pages), pages
    place = tests.parent.parent / "src" / "mcp_embedded_ui" / "explorer.html"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("\n".join(page.text for page in pages))
    mcp_embedded_ui.close_all()


def main():
    tests = Path(sys.argv[1])
    write_page(tests)
    results = Results()
    pytest.main(["-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-c", "/dev/null", str(tests)], [results])
    red, wrong = expected(), 0
    for name, passed in results.passed.items():
        if passed == (name not in red):
            print(f"ok {name}" + ("" if passed else f" fails, because {red[name]}"))
            continue
        wrong += 1
        print(f"NOT OK {name}: " + ("it passes, and decisions.json has it" if passed else results.why[name]))
    for name in red.keys() - results.passed.keys():
        wrong += 1
        print(f"NOT OK {name}: decisions.json has it, and there is no such test")
    passes = sum(results.passed.values())
    print(f"{passes} of {len(results.passed)} pass; {len(red)} must not")
    sys.exit(0 if wrong == 0 and len(results.passed) == TESTS else 1)


main()
