package sandbox

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The limits of the kernel are on every worker, and the machine would rather lose it than the server.
func TestConfined(t *testing.T) {
	w, err := startWorker(as(t, "worker"), Options{}.withDefaults().Limits)
	if err != nil {
		t.Fatal(err)
	}
	defer w.bury()
	if err := w.greet(); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"limits":        fmt.Sprintf(`(?m)^Max data size +%d +unlimited`, w.memoryLimit),
		"oom_score_adj": `^1000$`,
		"stat":          fmt.Sprintf(`^(\S+ ){18}%d `, workerNice),
	} {
		got, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", w.cmd.Process.Pid, file))
		if err != nil || !regexp.MustCompile(want).MatchString(strings.TrimSpace(string(got))) {
			t.Errorf("%s: %v, got %s, want %s", file, err, got, want)
		}
	}
	if w.memoryLimit < defaultMemory || w.memoryLimit > 2*raceShare*defaultMemory {
		t.Errorf("limit %d MiB", w.memoryLimit>>20)
	}
}
