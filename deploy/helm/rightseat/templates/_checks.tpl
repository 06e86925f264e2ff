{{- define "rightseat.labels" -}}
app.kubernetes.io/name: rightseat
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* What Kubernetes would accept, and an operator would find out in an incident. */}}
{{- define "rightseat.check" -}}
{{- $timeout := int (default 5 .Values.config.server.shutdown_timeout) -}}
{{- $needed := add (int .Values.drainSeconds) $timeout 5 -}}
{{- if le (int .Values.terminationSeconds) (int $needed) -}}
{{- fail (printf "terminationSeconds is %d: Kubernetes would kill a server that still finishes its responses. It must be more than drainSeconds (%d), config.server.shutdown_timeout (%d) and 5 together: at least %d." (int .Values.terminationSeconds) (int .Values.drainSeconds) $timeout (int (add $needed 1))) -}}
{{- end -}}
{{- $keys := dict "openbb" (list "secret" "key_file") "operator" (list "session_key" "session_key") -}}
{{- if or (gt (int .Values.replicas) 1) .Values.autoscaling.enabled -}}
{{- range $face := .Values.config.faces -}}
{{- $names := get $keys $face.type -}}
{{- if and $names (not $.Values.signingKeys.secret) (not (get $face (first $names))) (not (get $face (last $names))) -}}
{{- fail (printf "config.faces: the face %s signs with a key in the state folder, and each pod has a folder of its own: one pod would refuse what another one has signed. Set signingKeys.secret to a Secret with the keys." $face.type) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "rightseat.image" -}}
{{- if .Values.image.digest -}}
{{ printf "%s@%s" (regexReplaceAll ":[^:/]*$" .Values.image.name "") .Values.image.digest }}
{{- else -}}
{{ .Values.image.name }}
{{- end -}}
{{- end }}
