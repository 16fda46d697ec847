// Package hostile tests a whole server with daemons that lie, do not answer, answer slowly, or answer without end.
//
//muster:needs daemons quiet
package hostile

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"testing"

	"muster/test/server"
)

func TestMain(m *testing.M) {
	server.Main()
	os.Exit(m.Run())
}

// memory of a process as the kernel counts it: what it has now, and the most it ever had. In KiB.
func memory(t *testing.T, pid int) (now, most int64) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(status) {
		fields := bytes.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kib, _ := strconv.ParseInt(string(fields[1]), 10, 64)
		switch string(fields[0]) {
		case "VmRSS:":
			now = kib
		case "VmHWM:":
			most = kib
		}
	}
	return now, most
}
