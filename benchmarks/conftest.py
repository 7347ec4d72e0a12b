"""Scripts for other environments are not for pytest to import."""

collect_ignore_glob = ["rival_scripts/*", "page/*"]
