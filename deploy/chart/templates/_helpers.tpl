{{- define "club-learning.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "club-learning.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains (include "club-learning.name" .) .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "club-learning.name" .) | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "club-learning.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- .Values.serviceAccount.name | default (include "club-learning.fullname" .) }}
{{- else }}
{{- .Values.serviceAccount.name | default "default" }}
{{- end }}
{{- end }}

{{- define "club-learning.selector" -}}
app.kubernetes.io/name: {{ include "club-learning.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Labels, but not for templates of pods: there each new version of the chart would restart all pods. */}}
{{- define "club-learning.labels" -}}
{{ include "club-learning.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/*
The name of an image: its tag and its digest. A tag without a digest may point to another image tomorrow, so the values must allow it. Takes a
dict: root, tag, digest, value (the path of the digest in the values).
*/}}
{{- define "club-learning.reference" -}}
{{- if .digest }}
{{- printf "%s@%s" .tag .digest }}
{{- else if .root.Values.image.allowTag }}
{{- .tag }}
{{- else }}
{{- fail (printf "%s is not set, so nothing says which image the tag %s leads to: set it to the digest that your registry shows (sha256:…), or image.allowTag to true" .value .tag) }}
{{- end }}
{{- end }}

{{- define "club-learning.releaseTag" -}}
{{- include "club-learning.reference" (dict "root" . "tag" (.Values.image.tag | default .Chart.AppVersion) "digest" .Values.image.digest "value" "image.digest") }}
{{- end }}

{{/* The tag of the former release. Empty without a former release. */}}
{{- define "club-learning.previousTag" -}}
{{- with .Values.previous.tag }}
{{- include "club-learning.reference" (dict "root" $ "tag" . "digest" $.Values.previous.digest "value" "previous.digest") }}
{{- end }}
{{- end }}

{{/* A tag with its digest, for names and labels. It differs for each image. */}}
{{- define "club-learning.slug" -}}
{{- printf "%s-%s" (regexReplaceAll "[^a-z0-9]+" (lower .) "-" | trunc 20 | trimAll "-") (sha256sum . | trunc 6) }}
{{- end }}

{{/* A number of the values as text. Large numbers must not become 1e+06. */}}
{{- define "club-learning.text" -}}
{{- if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ toString . }}{{ end }}
{{- end }}

{{- define "club-learning.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "club-learning.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "club-learning.environment" -}}
{{- range $name, $value := .Values.config }}
- name: {{ $name }}
  value: {{ include "club-learning.text" $value | quote }}
{{- end }}
{{- range $name, $of := .Values.secrets.variables }}
{{- if eq $.Values.secrets.as "files" }}
- name: {{ $name }}_FILE
  value: /run/secrets/club-learning/{{ $name }}
{{- else }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ $of.name | default $.Values.secrets.name }}
      key: {{ $of.key | default $name }}
{{- end }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "club-learning.mounts" -}}
- name: scratch
  mountPath: /scratch
{{- if eq .Values.secrets.as "files" }}
- name: secrets
  mountPath: /run/secrets/club-learning
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Takes a dict: root, sizeLimit of the scratch volume. */}}
{{- define "club-learning.volumes" -}}
- name: scratch
  emptyDir:
    sizeLimit: {{ .sizeLimit }}
{{- if eq .root.Values.secrets.as "files" }}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
    {{- range $name, $of := .root.Values.secrets.variables }}
    - secret:
        name: {{ $of.name | default $.root.Values.secrets.name }}
        items:
        - key: {{ $of.key | default $name }}
          path: {{ $name }}
    {{- end }}
{{- end }}
{{- with .root.Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Takes a dict: root, tag, command, resources, and optional fields such as ports. */}}
{{- define "club-learning.container" -}}
- name: {{ .command }}
  image: "{{ .root.Values.image.repository }}:{{ .tag }}"
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  args: [{{ .command }}]
  env:
    {{- include "club-learning.environment" .root | trim | nindent 4 }}
    {{- with .env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .more }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  resources:
    {{- toYaml .resources | nindent 4 }}
  securityContext:
    {{- include "club-learning.containerSecurity" . | nindent 4 }}
  volumeMounts:
    {{- include "club-learning.mounts" .root | nindent 4 }}
{{- end }}

{{/* Takes a dict: root, settings of the pods. */}}
{{- define "club-learning.scheduling" -}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  {{- include "club-learning.podSecurity" . | nindent 2 }}
{{- range $name := list "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName" }}
{{- with index $.of $name }}
{{ $name }}:
  {{- if kindIs "string" . }} {{ . }}{{ else }}{{ toYaml . | nindent 2 }}{{ end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The spec of a pod that runs one command to its end. Takes a dict: root, command, serviceAccountName. */}}
{{- define "club-learning.once" -}}
restartPolicy: Never
serviceAccountName: {{ .serviceAccountName }}
{{ include "club-learning.scheduling" (dict "root" .root "of" dict) | trim }}
containers:
  {{- include "club-learning.container" (dict "root" .root "tag" (include "club-learning.releaseTag" .root) "command" .command "resources" .root.Values.jobs.resources) | nindent 2 }}
volumes:
  {{- include "club-learning.volumes" (dict "root" .root "sizeLimit" "1Gi") | nindent 2 }}
{{- end }}

{{/* A hook that runs one command. Takes a dict: root, command, job (its settings), hooks, weight, serviceAccountName, and optional fields of the job's spec. */}}
{{- define "club-learning.job" -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "club-learning.fullname" .root }}-{{ .command }}
  labels:
    {{- include "club-learning.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .command }}
  annotations:
    helm.sh/hook: {{ .hooks }}
    helm.sh/hook-weight: {{ .weight | quote }}
    helm.sh/hook-delete-policy: before-hook-creation
spec:
  backoffLimit: {{ .root.Values.jobs.backoffLimit }}
  activeDeadlineSeconds: {{ .job.activeDeadlineSeconds }}
  ttlSecondsAfterFinished: 86400
  {{- with .more }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  template:
    metadata:
      labels:
        {{- include "club-learning.selector" .root | nindent 8 }}
        app.kubernetes.io/component: {{ .command }}
    spec:
      {{- include "club-learning.once" . | nindent 6 }}
{{- end }}
