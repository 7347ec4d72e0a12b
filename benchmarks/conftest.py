"""Scripts for other environments are not for pytest to import; how busy the machine was before the run."""

import os

collect_ignore_glob = ["rival_scripts/*", "page/*", "paper/*"]
LOAD_BEFORE = round(os.getloadavg()[0], 2)


def pytest_benchmark_update_machine_info(config, machine_info):
    machine_info["load_before"] = LOAD_BEFORE
