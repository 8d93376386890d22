"""Three repositories as people have them, as file names with texts, and the mistakes that tests plant in them."""

from __future__ import annotations

from pathlib import Path

GROUP = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata:
  name: workers
spec:
  schedulingPolicy:
    gang:
      minCount: 4
"""
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: worker-0
spec:
  schedulingGroup:
    podGroupName: workers
  containers:
  - name: main
    image: registry.example/train:1
"""
TEMPLATE = """\
{{- if .Values.gang }}
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata:
  name: {{ include "train.fullname" . }}
  labels: {{- include "train.labels" . | nindent 4 }}
{{- end }}
"""
CHART = {
    ".gitignore": "charts/*.tgz\n/rendered/\n",
    ".helmignore": "*.tmp\n",
    "Chart.yaml": "apiVersion: v2\nname: train\nversion: 0.1.0\ndependencies:\n- {name: common, version: 1.x.x, repository: '@x'}\n",
    "Chart.lock": "dependencies: []\n",
    "values.yaml": "gang: true\nreplicas: 4\n",
    "values-production.yaml": "replicas: 64\n",
    "values.schema.json": '{"type": "object"}\n',
    "ci/gang-values.yaml": "gang: true\n",
    "templates/_helpers.tpl": '{{- define "train.fullname" -}}x{{- end }}\n',
    "templates/podgroup.yaml": TEMPLATE,
    "templates/tests/connection.yaml": TEMPLATE,
    "tests/podgroup_test.yaml": "suite: gang\ntemplates: [podgroup.yaml]\n",
    "charts/common/Chart.yaml": "apiVersion: v2\nname: common\nversion: 1.0.0\n",
    "charts/common/values.yaml": "{}\n",
    "charts/common/templates/_names.yaml": TEMPLATE,
    "crds/queue.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: queues.example.com}\n",
    "examples/group.yaml": GROUP,
    "examples/pod.yaml": POD,
    "rendered/all.yaml": "this: [is not rendered yet\n",
    ".github/workflows/lint.yml": "on: push\njobs: {}\n",
}
KUSTOMIZE = {
    "base/kustomization.yaml": "resources:\n- group.yaml\n- pod.yaml\nconfigMapGenerator:\n- name: settings\n  files: [run.json=settings.json]\n",
    "base/group.yaml": GROUP,
    "base/pod.yaml": POD,
    "base/settings.json": '{"steps": 1000}\n',
    "components/large/kustomization.yaml": "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\npatches:\n- path: more.yaml\n",
    "components/large/more.yaml": "kind: PodGroup\napiVersion: scheduling.k8s.io/v1beta1\nmetadata: {name: workers}\nspec: {priority: 7}\n",
    "overlays/production/kustomization.yml": """\
resources: [../../base]
patchesStrategicMerge:
- larger.yaml
- |-
  apiVersion: v1
  kind: Pod
  metadata: {name: worker-0}
patchesJson6902:
- target: {kind: PodGroup, name: workers}
  path: add.json
replacements:
- path: ../../common/copy.yaml
configurations: [names.yaml]
openapi: {path: crds.json}
""",
    "overlays/production/larger.yaml": "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: workers}\n",
    "overlays/production/add.json": '[{"op": "add", "path": "/spec/priority", "value": 9}]\n',
    "overlays/production/names.yaml": "nameReference: []\n",
    "overlays/production/crds.json": "{}\n",
    "common/copy.yaml": "source: {kind: Pod}\ntargets: []\n",
}
MONO_REPOSITORY = {
    ".git/HEAD": "ref: refs/heads/main\n",
    ".git/info/exclude": "scratch/\n",
    ".gitignore": "node_modules/\n*.local.yaml\n/web/build\n",
    ".pre-commit-config.yaml": "repos: []\n",
    ".vscode/settings.json": '{\n  // two spaces\n  "editor.tabSize": 2,\n}\n',
    "package.json": '{"private": true, "workspaces": ["web"]}\n',
    "pnpm-lock.yaml": "lockfileVersion: '9.0'\n",
    "docker-compose.yml": "services: {web: {build: web}}\n",
    "mkdocs.yml": "site_name: train\nmarkdown_extensions:\n- x: !!python/name:material.emoji\n",
    "azure-pipelines.yml": "steps:\n- ${{ if eq(1, 1) }}:\n  - script: x\n",
    "web/package.json": "{}\n",
    "web/tsconfig.json": '{\n  // strict\n  "compilerOptions": {"strict": true,},\n}\n',
    "web/tsconfig.build.json": '{"extends": "./tsconfig.json",}\n',
    "web/build/out.yaml": "a: [\n",
    "web/node_modules/left-pad/package.json": "{,}\n",
    "web/node_modules/left-pad/test/bad.yaml": "a: [\n",
    "jobs/.venv/pyvenv.cfg": "home = /usr/bin\n",
    "jobs/.venv/lib/site-packages/x/bad.yaml": "a: [\n",
    "jobs/env/pyvenv.cfg": "home = /usr/bin\n",
    "jobs/env/lib/bad.yaml": "a: [\n",
    "jobs/environment.yml": "dependencies: [python=3.12]\n",
    "jobs/pyproject.toml": "[project]\nname = 'jobs'\n",
    "operator/vendor/example.com/x/bad.yaml": "a: [\n",
    "deploy/.gitignore": "!keep.local.yaml\n",
    "deploy/keep.local.yaml": GROUP,
    "deploy/pod.yaml": POD,
    "deploy/mine.local.yaml": "a: [\n",
    "scratch/try.yaml": "a: [\n",
}


def written(files: dict[str, str], top: Path) -> Path:
    """Write *files* below *top* and return it."""
    for name, text in files.items():
        file = top / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return top
