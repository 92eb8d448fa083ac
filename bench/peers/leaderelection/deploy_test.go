package leaderelection

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// These tests read the manifests of deploy with the types of Kubernetes, which this module has.
const deploy = "../../../deploy/"

// documentsOf returns the documents of a YAML file, by kind and name.
func documentsOf(t *testing.T, text []byte) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for part := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var head struct {
			Kind     string
			Metadata struct{ Name string }
		}
		must(t, yaml.Unmarshal(part, &head))
		all[head.Kind+" "+head.Metadata.Name] = part
	}
	return all
}

// decode decodes a document, and refuses unknown fields.
func decode[T any](t *testing.T, document []byte) *T {
	t.Helper()
	into := new(T)
	must(t, yaml.UnmarshalStrict(document, into))
	return into
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(deploy + name)
	must(t, err)
	return text
}

// Each pod of the StatefulSet has its own Service; pods are spread over zones and restarted one at a time.
func TestMastersOnKubernetes(t *testing.T) {
	t.Parallel()
	checkMasters(t, documentsOf(t, read(t, "kubernetes/masters.yaml")))
}

func checkMasters(t *testing.T, all map[string][]byte) {
	t.Helper()
	set := decode[appsv1.StatefulSet](t, all["StatefulSet redlock"])
	pod := set.Spec.Template
	for i := range *set.Spec.Replicas {
		name := fmt.Sprintf("redlock-%d", i)
		service := decode[corev1.Service](t, all["Service "+name])
		if want := map[string]string{"statefulset.kubernetes.io/pod-name": name}; !maps.Equal(service.Spec.Selector, want) {
			t.Errorf("Service %s selects %v, want %v", name, service.Spec.Selector, want)
		}
		if port := service.Spec.Ports[0].Port; port != pod.Spec.Containers[0].Ports[0].ContainerPort {
			t.Errorf("Service %s has port %d", name, port)
		}
	}
	if governing := decode[corev1.Service](t, all["Service "+set.Spec.ServiceName]); governing.Spec.ClusterIP != corev1.ClusterIPNone {
		t.Errorf("Service %s has an address", governing.Name)
	}
	budget := decode[policyv1.PodDisruptionBudget](t, all["PodDisruptionBudget redlock"])
	labels := pod.Labels
	spread := pod.Spec.TopologySpreadConstraints[0]
	for what, selector := range map[string]map[string]string{
		"StatefulSet": set.Spec.Selector.MatchLabels, "PodDisruptionBudget": budget.Spec.Selector.MatchLabels, "topologySpreadConstraints": spread.LabelSelector.MatchLabels,
	} {
		if !maps.Equal(selector, labels) {
			t.Errorf("%s selects %v, the pods have %v", what, selector, labels)
		}
	}
	if *set.Spec.Replicas%2 == 0 || budget.Spec.MaxUnavailable.IntValue() != 1 || spread.MaxSkew != 1 || *spread.MinDomains != 3 || spread.WhenUnsatisfiable != corev1.DoNotSchedule {
		t.Errorf("%d replicas, maxUnavailable %v, spread %+v", *set.Spec.Replicas, budget.Spec.MaxUnavailable, spread)
	}
	if set.Spec.MinReadySeconds <= 61 || set.Spec.UpdateStrategy.Type != appsv1.RollingUpdateStatefulSetStrategyType {
		t.Errorf("a master that lost its disk votes after the max ttl and the drift; minReadySeconds is %d, and the update %v", set.Spec.MinReadySeconds, set.Spec.UpdateStrategy)
	}
	server := pod.Spec.Containers[0]
	if server.LivenessProbe != nil || server.ReadinessProbe == nil || !slices.Contains(server.ReadinessProbe.Exec.Command, "ping") || server.StartupProbe == nil {
		t.Errorf("its probes are %v, %v and %v", server.LivenessProbe, server.ReadinessProbe, server.StartupProbe)
	}
	if claim := set.Spec.VolumeClaimTemplates[0].Name; claim != server.VolumeMounts[0].Name || server.WorkingDir != server.VolumeMounts[0].MountPath {
		t.Errorf("the data are not on the volume %s: %+v in %s", claim, server.VolumeMounts, server.WorkingDir)
	}
}

// The Job founds a deployment of all masters of the StatefulSet.
func TestFoundingOnKubernetes(t *testing.T) {
	t.Parallel()
	job := decode[batchv1.Job](t, read(t, "kubernetes/found.yaml"))
	masters := strings.Split(job.Spec.Template.Spec.Containers[0].Env[0].Value, ",")
	all := documentsOf(t, read(t, "kubernetes/masters.yaml"))
	if replicas := decode[appsv1.StatefulSet](t, all["StatefulSet redlock"]).Spec.Replicas; int(*replicas) != len(masters) {
		t.Errorf("it founds %v, and there are %d masters", masters, *replicas)
	}
	for i, master := range masters {
		if want := fmt.Sprintf("rediss://redlock-%d.redlock.svc:6379", i); master != want {
			t.Errorf("it founds %s, want %s", master, want)
		}
	}
}

// kubectl puts the manifests together with the settings and the secrets.
func TestKustomize(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Log("NOT TESTED: there is no kubectl")
		return
	}
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(deploy)))
	for _, secret := range []string{"redlock.password", "ca.crt", "tls.crt", "tls.key"} {
		must(t, os.WriteFile(filepath.Join(dir, secret), []byte(secret), 0o600))
	}
	out, err := exec.CommandContext(t.Context(), "kubectl", "kustomize", dir).Output()
	must(t, err)
	all := documentsOf(t, out)
	checkMasters(t, all)
	sources := decode[appsv1.StatefulSet](t, all["StatefulSet redlock"]).Spec.Template.Spec.Volumes[0].Projected.Sources
	settings := decode[corev1.ConfigMap](t, all["ConfigMap "+sources[0].ConfigMap.Name])
	secret := decode[corev1.Secret](t, all["Secret "+sources[1].Secret.Name])
	if settings.Data["redis.conf"] != string(read(t, "redis.conf")) || !bytes.Equal(secret.Data["users.acl"], read(t, "users.acl")) {
		t.Errorf("the settings and the users are not those of deploy: %v", settings.Data)
	}
	decode[corev1.Secret](t, all["Secret redlock-client"])
}

// compose.yaml starts one master with every file that the settings name.
func TestMasterInCompose(t *testing.T) {
	t.Parallel()
	type service struct {
		Image, Restart string
		Command        []string
		Ports, Volumes []string
		Ulimits        map[string]int
		Healthcheck    struct {
			Test              []string
			Interval, Timeout string
			Retries           int
		}
	}
	file := decode[struct {
		Services map[string]service
		Volumes  map[string]any
	}](t, read(t, "compose/compose.yaml"))
	master := file.Services["master"]
	if len(file.Services) != 1 || !slices.Equal(master.Command, []string{"/etc/redlock/redis.conf"}) || master.Restart != "always" || !slices.Contains(master.Volumes, "data:/data") {
		t.Errorf("the services are %+v", file.Services)
	}
	for line := range strings.Lines(string(read(t, "redis.conf")) + "x /etc/redlock/redis.conf\n") {
		_, path, is := strings.Cut(strings.TrimSpace(line), " /etc/redlock/")
		if want := "./" + path + ":/etc/redlock/" + path + ":ro"; is && !slices.Contains(master.Volumes, want) {
			t.Errorf("compose.yaml does not mount %s", want)
		}
	}
}
