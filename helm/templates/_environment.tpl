{{- /* What the processes are told: settings (public) and secrets, and the sentences for missing ones. */}}

{{- define "codemem.secretNames" -}}
DATABASE_URL REDIS_URL CODEMEM_SECRET_KEY SENTRY_DSN
{{- end }}

{{- define "codemem.publicHost" -}}
{{- $url := .Values.publicUrl | required "publicUrl is not set. It is the address people and agents use, such as https://codemem.example.com." }}
{{- if not (regexMatch "^https?://[^/]+/?$" $url) }}
{{- fail (printf "publicUrl must look like https://codemem.example.com, without a path; it is %q." $url) }}
{{- end }}
{{- regexReplaceAll ":[0-9]+$" (urlParse $url).host "" }}
{{- end }}

{{- /* Pods inside the cluster reach codemem by the Service's names. */}}
{{- define "codemem.allowedHosts" -}}
{{- $service := include "codemem.fullname" . }}
{{- $inside := list $service (printf "%s.%s" $service .Release.Namespace) (printf "%s.%s.svc" $service .Release.Namespace) }}
{{- concat (list (include "codemem.publicHost" .)) .Values.allowedHosts $inside | uniq | join "," }}
{{- end }}

{{- /* A YAML map of every setting that is not secret. */}}
{{- define "codemem.settings" -}}
{{- range $name := splitList " " (include "codemem.secretNames" .) }}
{{- if hasKey $.Values.settings $name }}
{{- fail (printf "settings.%s would put a secret into a ConfigMap. Set it under secrets." $name) }}
{{- end }}
{{- end }}
{{- $settings := dict
  "CODEMEM_PUBLIC_URL" (trimSuffix "/" .Values.publicUrl)
  "CODEMEM_ALLOWED_HOSTS" (include "codemem.allowedHosts" .)
  "CODEMEM_DATA_DIRECTORY" "/var/lib/codemem"
  "CODEMEM_MODELS_DIRECTORY" .Values.models.directory
  "CODEMEM_LOG_LEVEL" .Values.logLevel
  "SENTRY_ENVIRONMENT" .Values.sentryEnvironment
}}
{{- range $name, $value := .Values.settings }}
{{- $_ := set $settings $name $value }}
{{- end }}
{{- toYaml $settings }}
{{- end }}

{{- /* A YAML map of the secrets given as values: what the Secret of this chart holds. */}}
{{- define "codemem.secretData" -}}
{{- $databaseUrl := .Values.secrets.databaseUrl | required "secrets.databaseUrl is not set. codemem brings no Postgres of its own: give postgresql://user:password@host:5432/codemem, or name a Secret with DATABASE_URL in secrets.existingSecret." }}
{{- if not (regexMatch "^postgres(ql)?://" $databaseUrl) }}
{{- fail "secrets.databaseUrl must look like postgresql://user:password@host:5432/codemem." }}
{{- end }}
{{- $redisUrl := .Values.secrets.redisUrl | required "secrets.redisUrl is not set. codemem brings no Redis of its own: give redis://:password@host:6379/0, or name a Secret with REDIS_URL in secrets.existingSecret." }}
{{- if not (regexMatch "^rediss?://" $redisUrl) }}
{{- fail "secrets.redisUrl must look like redis://:password@host:6379/0." }}
{{- end }}
{{- $secretKey := .Values.secrets.secretKey | required "secrets.secretKey is not set. Give a long random string (openssl rand -base64 48), or name a Secret with CODEMEM_SECRET_KEY in secrets.existingSecret." }}
{{- toYaml (dict "DATABASE_URL" $databaseUrl "REDIS_URL" $redisUrl "CODEMEM_SECRET_KEY" $secretKey "SENTRY_DSN" .Values.secrets.sentryDsn) }}
{{- end }}

{{- /*
Entries of a container's `env`. Each secret is named, so that a key missing from an existing Secret
is an event of the pod and not a crash inside it. Takes (dict "root" $ "secretName" "...").
*/}}
{{- define "codemem.secretEnvironment" -}}
{{- range $name := splitList " " (include "codemem.secretNames" .root) }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ $.secretName }}
      key: {{ $name }}
      {{- if eq $name "SENTRY_DSN" }}
      optional: true
      {{- end }}
{{- end }}
{{- end }}

{{- define "codemem.environmentSources" -}}
- configMapRef:
    name: {{ include "codemem.fullname" . }}
{{- with .Values.extraEnvFrom }}
{{ toYaml . }}
{{- end }}
{{- end }}
