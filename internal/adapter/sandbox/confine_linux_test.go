package sandbox

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	landlocksys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// The limits of the kernel are on every worker, and the machine would rather lose it than the server.
func TestConfined(t *testing.T) {
	w := greeted(t, "worker")
	wants := map[string]string{
		"oom_score_adj": `^1000$`,
		"stat":          fmt.Sprintf(`^(\S+ ){18}%d `, max(workerNice, niceness(t))),
		"status":        `(?s)CapEff:\s0+\n.*NoNewPrivs:\s1\nSeccomp:\s2\n`,
	}
	data, address := w.ready.Data+defaultMemory, w.ready.AddressSpace+defaultMemory+addressSlack
	for _, limit := range []string{
		"core file size +0 +0", "file size +0 +0", "open files +16 +16", "cpu time +600 +600", "locked memory +0 +0",
		fmt.Sprintf("data size +%d +%d", data, data), fmt.Sprintf("address space +%d +%d", address, address),
	} {
		wants["limits "+limit] = "(?m)^Max " + limit
	}
	for file, want := range wants {
		file, _, _ = strings.Cut(file, " ")
		got, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", w.cmd.Process.Pid, file))
		if err != nil || !regexp.MustCompile(want).MatchString(strings.TrimSpace(string(got))) {
			t.Errorf("%s: %v, got %s, want %s", file, err, got, want)
		}
	}
	if w.ready.Data > 2*raceShare*defaultMemory {
		t.Errorf("an idle worker uses %d MiB", w.ready.Data>>20)
	}
}

// niceness is that of this process: a worker gets no nearer to the processors than the tests.
func niceness(t *testing.T) int {
	t.Helper()
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	return 20 - raw // the system call answers 20 to 40-1, so that no answer is an error
}

// Of what this system offers nothing is left out, and what is said to be in force is.
func TestAllMeasuresInForce(t *testing.T) {
	keepDescriptors()
	w := greeted(t, "worker")
	version, _ := landlocksys.LandlockGetABIVersion()
	mayLack := map[Measure]bool{ // what older kernels and containers do not have
		Landlock: version < 1, OtherUser: whyNoOtherUser() != "", NetworkNamespace: true,
	}
	for _, m := range Measures {
		why, known := w.confinement[m]
		if !known || why != "" && !mayLack[m] {
			t.Errorf("%s is not in force: %q", m, why)
		}
	}
	network, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", w.cmd.Process.Pid))
	if w.confinement.InForce(NetworkNamespace) && os.Geteuid() == 0 && (err != nil || network == ownNetwork(t)) {
		t.Errorf("the worker is in network %s: %v", network, err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	const ids = "Uid:\t65534\t65534\t65534\t65534\nGid:\t65534\t65534\t65534\t65534\n"
	isNobody := strings.Contains(string(status), ids) && regexp.MustCompile(`(?m)^Groups:\s*$`).Match(status)
	if w.confinement.InForce(OtherUser) != isNobody {
		t.Errorf("another user: %q, but %s", w.confinement[OtherUser], status)
	}
}

func ownNetwork(t *testing.T) string {
	t.Helper()
	network, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	return network
}

// A descriptor that the server inherited, and whose closing nobody asked for, does not reach a worker.
func TestInheritedDescriptorReachesNoWorker(t *testing.T) {
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := unix.FcntlInt(file.Fd(), unix.F_SETFD, 0); err != nil {
		t.Fatal(err)
	}
	if w := greeted(t, "worker"); w.confinement.InForce(ClosedDescriptors) {
		t.Fatal("the test proves nothing: the descriptor is not inherited")
	}
	keepDescriptors()
	if w := greeted(t, "worker"); !w.confinement.InForce(ClosedDescriptors) {
		t.Errorf("descriptors: %s", w.confinement[ClosedDescriptors])
	}
}

// A server that is root in a folder that others cannot enter has workers of another user all the same.
func TestProgramInClosedFolder(t *testing.T) {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	copied := folder + "/muster"
	if err := os.WriteFile(copied, self, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	out := run(t, copied, "starts")
	if whyNoOtherUser() == "" && !strings.Contains(out, `"otherUser":""`) ||
		!strings.Contains(out, `"systemCallFilter":""`) {
		t.Errorf("got %s", out)
	}
}
