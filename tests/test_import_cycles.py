from graphlib import TopologicalSorter

import grimp


def test_modules_import_each_other_without_cycles() -> None:
    """Imports for type checking and inside functions count too."""
    graph = grimp.build_graph("rightseat", cache_dir=None)

    TopologicalSorter({module: graph.find_modules_directly_imported_by(module) for module in graph.modules}).prepare()
