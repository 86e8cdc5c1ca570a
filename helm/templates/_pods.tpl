{{- /* What every pod has in common. */}}

{{- /* Restarts the pods when a setting or a secret of this chart changes. */}}
{{- define "codemem.podMetadata" -}}
labels:
  {{- include "codemem.labels" . | nindent 2 }}
  {{- with .root.Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  checksum/settings: {{ include "codemem.settings" .root | sha256sum }}
  {{- if not .root.Values.secrets.existingSecret }}
  checksum/secrets: {{ include "codemem.secretData" .root | sha256sum }}
  {{- end }}
  {{- with .root.Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "codemem.podDefaults" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "codemem.containerDefaults" -}}
image: {{ include "codemem.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{- define "codemem.mounts" -}}
- name: tmp
  mountPath: /tmp
- name: data
  mountPath: /var/lib/codemem
{{- if .Values.models.existingClaim }}
- name: models
  mountPath: {{ .Values.models.directory }}
  readOnly: true
{{- end }}
{{- end }}

{{- /* All volumes but `data`, which differs. */}}
{{- define "codemem.volumes" -}}
- name: tmp
  emptyDir: {}
{{- with .Values.models.existingClaim }}
- name: models
  persistentVolumeClaim:
    claimName: {{ . }}
    readOnly: true
{{- end }}
{{- end }}
