"""The chart, rendered and linted by the real helm; a machine that can have no helm fails here."""

import json
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.timeout(600)  # a fresh machine builds helm first

ROOT = Path(__file__).resolve().parents[2]
HELM = ROOT / "deploy" / "helm.sh"
CHART = ROOT / "helm"

SECRETS = {
    "databaseUrl": "postgresql://codemem:database-password@db:5432/codemem",
    "redisUrl": "redis://:redis-password@redis:6379/0",
    "secretKey": "signing-key",
    "sentryDsn": "https://sentry-key@sentry.example.com/1",
}
LEAST: dict[str, Any] = {"publicUrl": "https://codemem.example.com", "secrets": SECRETS}
SHARED_CLAIM = {"kind": "claim", "accessMode": "ReadWriteMany"}
FULL: dict[str, Any] = {
    **LEAST,
    "allowedHosts": ["memory.example.com"],
    "image": {
        "repository": "registry.example.com/codemem",
        "digest": "sha256:" + 64 * "0",
        "pullSecrets": ["registry"],
    },
    "settings": {"CODEMEM_TOKEN_DEFAULT_DAYS": "30"},
    "extraEnvFrom": [{"secretRef": {"name": "forge"}}],
    "models": {"existingClaim": "models"},
    "web": {"autoscaling": {"enabled": True}},
    "worker": {"pools": {"index": {"replicas": 2, "volume": SHARED_CLAIM}}},
    "ingress": {"enabled": True, "className": "nginx", "tls": {"secretName": "tls"}},
    "networkPolicy": {
        "enabled": True,
        "webFrom": [{"namespaceSelector": {}}],
        "egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}],
    },
    "metrics": {"serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}}},
    "podAnnotations": {"team": "platform"},
    "podLabels": {"cost-center": "tools"},
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"operator": "Exists"}],
}
EXISTING_SECRET: dict[str, Any] = {
    "publicUrl": LEAST["publicUrl"],
    "secrets": {"existingSecret": "kept-elsewhere"},
}

Manifest = dict[str, Any]

every_variant = pytest.mark.parametrize(
    "values", [LEAST, FULL, EXISTING_SECRET], ids=["least", "full", "existing-secret"]
)


@every_variant
def test_the_chart_passes_a_strict_lint(values):
    result = run_helm("lint", "--strict", str(CHART), values=json.dumps(values))

    assert result.returncode == 0, result.stdout + result.stderr


@every_variant
def test_every_workload_is_unprivileged(values):
    for workload in workloads(render(values)):
        pod = pod_of(workload)
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] > 0
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in containers(pod):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }


@every_variant
def test_every_container_asks_for_cpu_and_memory_and_has_a_memory_limit(values):
    for workload in workloads(render(values)):
        for container in containers(pod_of(workload)):
            assert set(container["resources"]["requests"]) == {"cpu", "memory"}
            assert "memory" in container["resources"]["limits"]


@every_variant
def test_every_mount_has_its_volume_and_every_volume_its_mount(values):
    for workload in workloads(render(values)):
        pod = pod_of(workload)
        mounted = {m["name"] for c in containers(pod) for m in c["volumeMounts"]}
        assert mounted == {volume["name"] for volume in pod["volumes"]}


@every_variant
def test_every_deployment_is_probed_and_finds_its_own_pods_only(values):
    deployments = of_kind(render(values), "Deployment")
    selectors = [frozenset(d["spec"]["selector"]["matchLabels"].items()) for d in deployments]

    assert len(set(selectors)) == len(deployments)
    for deployment, selector in zip(deployments, selectors, strict=True):
        assert selector <= pod_labels(deployment)
        assert sum(selector <= pod_labels(other) for other in deployments) == 1
        for container in containers(pod_of(deployment)):
            assert {"startupProbe", "livenessProbe"} <= set(container)


@every_variant
def test_service_budget_and_policy_select_web_and_nothing_else(values):
    manifests = render(values)
    selectors = [
        of_kind(manifests, "Service")[0]["spec"]["selector"],
        of_kind(manifests, "PodDisruptionBudget")[0]["spec"]["selector"]["matchLabels"],
        *(
            policy["spec"]["podSelector"]["matchLabels"]
            for policy in of_kind(manifests, "NetworkPolicy")
            if policy["spec"].get("ingress")
        ),
    ]

    for selector in selectors:
        found = [w for w in workloads(manifests) if set(selector.items()) <= pod_labels(w)]
        assert [w["metadata"]["name"] for w in found] == ["codemem-web"]


def test_web_is_ready_when_its_database_is_and_alive_when_it_answers():
    web = container_of(render(LEAST), "codemem-web")

    assert web["startupProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
    assert web["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
    assert web["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}


def test_web_answers_probes_that_call_it_by_its_address():
    environment = environment_of(container_of(render(LEAST), "codemem-web"))

    assert environment["POD_IP"] == {"fieldRef": {"fieldPath": "status.podIP"}}
    assert environment["CODEMEM_ALLOWED_HOSTS"].split(",") == [
        "codemem.example.com",
        "codemem",
        "codemem.team",
        "codemem.team.svc",
        "$(POD_IP)",
    ]


def test_web_may_drain_and_finish_before_it_is_killed():
    web = named(render({**LEAST, "web": {"drainSeconds": 25}}), "Deployment", "codemem-web")
    pod = pod_of(web)

    assert pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"] == ["sleep", "25"]
    assert pod["terminationGracePeriodSeconds"] >= 25 + 30


def test_autoscaling_takes_the_number_of_replicas_over():
    fixed, scaled = render(LEAST), render(FULL)

    assert named(fixed, "Deployment", "codemem-web")["spec"]["replicas"] == 2
    assert not of_kind(fixed, "HorizontalPodAutoscaler")
    assert "replicas" not in named(scaled, "Deployment", "codemem-web")["spec"]
    target = of_kind(scaled, "HorizontalPodAutoscaler")[0]["spec"]["scaleTargetRef"]
    assert target == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "codemem-web"}


def test_the_workers_together_serve_every_queue():
    from workers.queue import Queue

    served = {
        queue
        for deployment in of_kind(render(LEAST), "Deployment")
        for argument in containers(pod_of(deployment))[0]["command"]
        if argument.startswith("--queues=")
        for queue in argument.removeprefix("--queues=").split(",")
    }

    assert served == {queue.value for queue in Queue}


def test_a_pool_can_be_left_out():
    names = deployment_names(render({**LEAST, "worker": {"pools": {"embed": None}}}))

    assert "codemem-worker-embed" not in names
    assert {"codemem-worker-index", "codemem-worker-maintenance"} <= names


def test_worker_liveness_looks_at_the_file_the_worker_touches():
    from workers import heartbeat

    worker = container_of(render(LEAST), "codemem-worker-index")

    assert "--include=workers.heartbeat" in worker["command"]
    for probe in ("startupProbe", "livenessProbe"):
        command = " ".join(worker[probe]["exec"]["command"])
        assert f"/tmp/{heartbeat.FILE.name}" in command


def test_mirrors_are_on_a_claim_when_asked():
    manifests = render(FULL)
    pod = pod_of(named(manifests, "Deployment", "codemem-worker-index"))
    data = next(volume for volume in pod["volumes"] if volume["name"] == "data")

    claim = named(manifests, "PersistentVolumeClaim", "codemem-worker-index")
    assert data["persistentVolumeClaim"] == {"claimName": claim["metadata"]["name"]}
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]


def test_a_volume_of_one_node_is_handed_over_not_shared():
    pools = {"index": {"volume": {"kind": "claim"}}}
    worker = named(
        render({**LEAST, "worker": {"pools": pools}}), "Deployment", "codemem-worker-index"
    )

    assert worker["spec"]["strategy"] == {"type": "Recreate"}
    assert "has 3 replicas, but its volume can only be mounted on one node" in refusal(
        {**LEAST, "worker": {"pools": {"index": {"replicas": 3, "volume": {"kind": "claim"}}}}}
    )


@every_variant
def test_there_is_one_beat_and_never_two(values):
    beats = [d for d in of_kind(render(values), "Deployment") if "beat" in command_of(d)]

    assert len(beats) == 1
    assert beats[0]["spec"]["replicas"] == 1
    assert beats[0]["spec"]["strategy"] == {"type": "Recreate"}


def test_migrations_run_before_a_release_and_replace_the_last_run():
    job = named(render(LEAST), "Job", "codemem-migration")
    annotations = job["metadata"]["annotations"]

    assert annotations["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert annotations["helm.sh/hook-delete-policy"] == "before-hook-creation"
    assert job["spec"]["backoffLimit"] == 2
    pod = pod_of(job)
    assert pod["restartPolicy"] == "Never"
    assert pod["initContainers"][0]["command"][:3] == ["python", "manage.py", "check"]
    assert pod["containers"][0]["command"][:3] == ["python", "manage.py", "migrate"]


@every_variant
def test_a_first_migration_needs_nothing_the_release_has_not_made_yet(values):
    manifests = render(values)
    job = of_kind(manifests, "Job")[0]
    earlier_hooks = {
        (m["kind"], m["metadata"]["name"])
        for m in manifests
        if int(m["metadata"].get("annotations", {}).get("helm.sh/hook-weight", "0")) < 0
    }
    chart_makes = {(m["kind"], m["metadata"]["name"]) for m in manifests}

    assert "serviceAccountName" not in pod_of(job)
    needed = set(references(pod_of(job)))
    assert (
        "Secret",
        "kept-elsewhere" if values is EXISTING_SECRET else "codemem-migration",
    ) in needed
    assert needed & chart_makes <= earlier_hooks


@every_variant
def test_everything_a_pod_refers_to_is_in_the_chart_or_was_named_by_the_operator(values):
    manifests = render(values)
    made = {(m["kind"], m["metadata"]["name"]) for m in manifests}
    operators_own = {
        ("Secret", "kept-elsewhere"),
        ("Secret", "forge"),
        ("Secret", "registry"),
        ("PersistentVolumeClaim", "models"),
    }

    for workload in workloads(manifests):
        assert set(references(pod_of(workload))) <= made | operators_own


@every_variant
def test_secrets_are_in_secrets_only(values):
    for manifest in render(values):
        if manifest["kind"] == "Secret":
            continue
        text = json.dumps(manifest)
        assert "-password" not in text
        assert SECRETS["secretKey"] not in text
        assert "sentry-key" not in text


def test_an_existing_secret_is_read_and_none_is_made():
    manifests = render(EXISTING_SECRET)

    assert not of_kind(manifests, "Secret")
    for workload in workloads(manifests):
        for container in containers(pod_of(workload)):
            environment = environment_of(container)
            for name in ("DATABASE_URL", "REDIS_URL", "CODEMEM_SECRET_KEY"):
                reference = {"name": "kept-elsewhere", "key": name}
                assert environment[name] == {"secretKeyRef": reference}
            assert environment["SENTRY_DSN"]["secretKeyRef"]["optional"] is True


@pytest.mark.parametrize(
    "change",
    [
        {"settings": {"CODEMEM_RELEVANCE_FLOOR": "0.3"}},
        {"secrets": {**SECRETS, "redisUrl": "redis://:other@redis:6379/0"}},
    ],
    ids=["setting", "secret"],
)
def test_a_changed_setting_or_secret_restarts_every_pod(change):
    before = of_kind(render(LEAST), "Deployment")
    after = of_kind(render({**LEAST, **change}), "Deployment")

    for old, new in zip(before, after, strict=True):
        assert checksums(old) != checksums(new)
    assert [checksums(d) for d in before] == [
        checksums(d) for d in of_kind(render(LEAST), "Deployment")
    ]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"publicUrl": ""}, "publicUrl is not set. It is the address people and agents use"),
        ({"publicUrl": "https://example.com/codemem"}, "without a path"),
        ({"secrets": {**SECRETS, "databaseUrl": ""}}, "codemem brings no Postgres of its own"),
        ({"secrets": {**SECRETS, "databaseUrl": "mysql://db/x"}}, "must look like postgresql://"),
        ({"secrets": {**SECRETS, "redisUrl": ""}}, "codemem brings no Redis of its own"),
        ({"secrets": {**SECRETS, "redisUrl": "redis:6379"}}, "must look like redis://"),
        ({"secrets": {**SECRETS, "secretKey": ""}}, "Give a long random string"),
        ({"settings": {"DATABASE_URL": "x"}}, "would put a secret into a ConfigMap"),
        ({"settings": {"CODEMEM_TOKEN_DEFAULT_DAYS": 30}}, "want string"),
        ({"web": {"replica": 3}}, "'replica' not allowed"),
    ],
)
def test_values_that_cannot_work_are_refused_in_a_sentence(values, sentence):
    assert sentence in refusal({**LEAST, **values})


def test_the_ingress_serves_every_public_host_over_tls():
    ingress = of_kind(render(FULL), "Ingress")[0]["spec"]
    hosts = ["codemem.example.com", "memory.example.com"]

    assert ingress["tls"] == [{"hosts": hosts, "secretName": "tls"}]
    assert [rule["host"] for rule in ingress["rules"]] == hosts
    assert ingress["ingressClassName"] == "nginx"


def test_prometheus_scrapes_the_port_the_service_names():
    manifests = render(FULL)
    monitor = of_kind(manifests, "ServiceMonitor")[0]
    service = of_kind(manifests, "Service")[0]

    assert monitor["spec"]["endpoints"][0]["port"] == service["spec"]["ports"][0]["name"]
    selector = monitor["spec"]["selector"]["matchLabels"]
    assert selector.items() <= service["metadata"]["labels"].items()
    web = container_of(manifests, "codemem-web")
    metrics = environment_of(web)["PROMETHEUS_MULTIPROC_DIR"]
    assert metrics in {mount["mountPath"] for mount in web["volumeMounts"]}


def test_network_policies_close_every_pod_and_open_web():
    closed, web = of_kind(render(FULL), "NetworkPolicy")

    assert "ingress" not in closed["spec"]
    assert closed["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert web["spec"]["ingress"] == [
        {"ports": [{"port": "http"}], "from": [{"namespaceSelector": {}}]}
    ]


def render(values: Manifest) -> list[Manifest]:
    manifests = yaml.safe_load_all(rendered(json.dumps(values)))
    return [manifest for manifest in manifests if manifest]


@cache
def rendered(values: str) -> str:
    result = run_helm("template", "codemem", str(CHART), "--namespace", "team", values=values)
    assert result.returncode == 0, result.stderr
    return result.stdout


def refusal(values: Manifest) -> str:
    result = run_helm("template", "codemem", str(CHART), values=json.dumps(values))
    assert result.returncode != 0, "helm accepted the values"
    return result.stderr


def run_helm(*arguments: str, values: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(HELM), *arguments, "--values", "-"],
        input=values,
        capture_output=True,
        text=True,
        check=False,
    )


def of_kind(manifests: list[Manifest], kind: str) -> list[Manifest]:
    return [manifest for manifest in manifests if manifest["kind"] == kind]


def named(manifests: list[Manifest], kind: str, name: str) -> Manifest:
    return next(m for m in of_kind(manifests, kind) if m["metadata"]["name"] == name)


def workloads(manifests: list[Manifest]) -> list[Manifest]:
    found = [*of_kind(manifests, "Deployment"), *of_kind(manifests, "Job")]
    assert found
    return found


def deployment_names(manifests: list[Manifest]) -> set[str]:
    return {deployment["metadata"]["name"] for deployment in of_kind(manifests, "Deployment")}


def pod_of(workload: Manifest) -> Manifest:
    return workload["spec"]["template"]["spec"]


def pod_labels(workload: Manifest) -> set[tuple[str, str]]:
    return set(workload["spec"]["template"]["metadata"]["labels"].items())


def checksums(deployment: Manifest) -> Manifest:
    annotations = deployment["spec"]["template"]["metadata"]["annotations"]
    return {name: value for name, value in annotations.items() if name.startswith("checksum/")}


def containers(pod: Manifest) -> list[Manifest]:
    return [*pod.get("initContainers", []), *pod["containers"]]


def container_of(manifests: list[Manifest], deployment: str) -> Manifest:
    return pod_of(named(manifests, "Deployment", deployment))["containers"][0]


def command_of(deployment: Manifest) -> list[str]:
    return pod_of(deployment)["containers"][0]["command"]


def environment_of(container: Manifest) -> Manifest:
    return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in container["env"]}


def references(pod: Manifest) -> Iterator[tuple[str, str]]:
    """Every object of the namespace that the pod cannot start without."""
    if "serviceAccountName" in pod:
        yield "ServiceAccount", pod["serviceAccountName"]
    for entry in pod.get("imagePullSecrets", []):
        yield "Secret", entry["name"]
    for volume in pod["volumes"]:
        if claim := volume.get("persistentVolumeClaim"):
            yield "PersistentVolumeClaim", claim["claimName"]
    for container in containers(pod):
        yield from environment_references(container)


def environment_references(container: Manifest) -> Iterator[tuple[str, str]]:
    for source in container.get("envFrom", []):
        for key, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            if key in source:
                yield kind, source[key]["name"]
    for entry in container["env"]:
        if reference := entry.get("valueFrom", {}).get("secretKeyRef"):
            yield "Secret", reference["name"]
