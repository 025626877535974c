"""Holds manifests, as YAML on standard input, against the schemas of the Kubernetes versions that are given; prints them as JSON.

The output has the `resources`, how many were `valid` in all versions, the `problems`, and the kinds that have no schema: `unknown`.
"""

import functools
import json
import sys

import kubernetes_validate.utils as utils
import yaml

utils.schema_contents = functools.lru_cache(utils.schema_contents)

resources = [resource for resource in yaml.safe_load_all(sys.stdin) if resource]
problems, unknown, valid = [], set(), 0
for resource in resources:
    name = f"{resource['kind']} {resource['metadata']['name']}"
    before = len(problems), len(unknown)
    for version in sys.argv[1:]:
        try:
            utils.validate(resource, version, strict=True)
        except utils.ValidationError as error:
            place = ".".join(str(step) for step in error.path)
            problems.append(f"{name}, Kubernetes {version}: {place}: {error.message[:300]}")
        except utils.SchemaNotFoundError:
            unknown.add(resource["kind"])
    valid += before == (len(problems), len(unknown)) and resource["kind"] not in unknown
json.dump({"resources": resources, "valid": valid, "problems": problems, "unknown": sorted(unknown)}, sys.stdout)
