{{- define "delta-gateway.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "delta-gateway.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "delta-gateway.labels" -}}
{{ include "delta-gateway.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "delta-gateway.gateways" -}}
{{ include "delta-gateway.selector" . }}
app.kubernetes.io/component: gateway
{{- end }}

{{- define "delta-gateway.executors" -}}
{{ include "delta-gateway.selector" . }}
app.kubernetes.io/component: executor
{{- end }}

{{- define "delta-gateway.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* The stable name of a pod, which Kubernetes puts in for POD_NAME. */}}
{{- define "delta-gateway.pod" -}}
$(POD_NAME).{{ include "delta-gateway.name" . }}-peers.{{ .Release.Namespace }}.svc
{{- end }}

{{- define "delta-gateway.hosts" -}}
{{- $name := include "delta-gateway.name" . -}}
{{- $services := list (printf "%s-http" $name) (printf "%s-http.%s" $name .Release.Namespace) (printf "%s-http.%s.svc" $name .Release.Namespace) (printf "%s-http.%s.svc.cluster.local" $name .Release.Namespace) -}}
{{- $ingress := ternary (list .Values.ingress.host) (list) .Values.ingress.enabled -}}
{{- concat $services $ingress .Values.hosts | toJson -}}
{{- end }}

{{/* Spark's settings as a table of TOML; Kubernetes puts in POD_NAME. */}}
{{- define "delta-gateway.sparkConf" -}}
{{- $conf := dict -}}
{{- if .Values.spark.onKubernetes -}}
{{- $executor := .Values.spark.executor -}}
{{- $conf = dict
    "spark.driver.host" (include "delta-gateway.pod" .)
    "spark.driver.bindAddress" "0.0.0.0"
    "spark.driver.port" (toString .Values.spark.driverPort)
    "spark.driver.blockManager.port" (toString .Values.spark.blockManagerPort)
    "spark.kubernetes.namespace" .Release.Namespace
    "spark.kubernetes.driver.pod.name" "$(POD_NAME)"
    "spark.kubernetes.executor.podNamePrefix" "$(POD_NAME)"
    "spark.kubernetes.container.image" $executor.image
    "spark.kubernetes.authenticate.driver.serviceAccountName" (include "delta-gateway.name" .)
    "spark.kubernetes.executor.label.app.kubernetes.io/name" .Chart.Name
    "spark.kubernetes.executor.label.app.kubernetes.io/instance" .Release.Name
    "spark.kubernetes.executor.label.app.kubernetes.io/component" "executor"
    "spark.executor.instances" (toString $executor.instances)
    "spark.executor.cores" (toString $executor.cores)
    "spark.executor.memory" $executor.memory
    "spark.authenticate" "true"
    "spark.network.crypto.enabled" "true"
-}}
{{- end -}}
{{- $pairs := list -}}
{{- range $key, $value := mergeOverwrite $conf .Values.spark.conf -}}
{{- $pairs = append $pairs (printf "%s = %s" ($key | toJson) ($value | toString | toJson)) -}}
{{- end -}}
{ {{- $pairs | join ", " -}} }
{{- end }}
