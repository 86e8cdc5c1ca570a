{{- /* What things are called, and the labels that find them again. */}}

{{- define "codemem.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* 40 characters leave room for "-worker-maintenance" within a name's 63. */}}
{{- define "codemem.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains (include "codemem.name" .) .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "codemem.name" .) | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "codemem.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{- define "codemem.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "codemem.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "codemem.secretName" -}}
{{- default (include "codemem.fullname" .) .Values.secrets.existingSecret }}
{{- end }}

{{- /* Selectors are immutable: never add to them. Takes (dict "root" $ "component" "web"). */}}
{{- define "codemem.selector" -}}
app.kubernetes.io/name: {{ include "codemem.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{- define "codemem.labels" -}}
{{ include "codemem.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}
