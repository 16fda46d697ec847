package templates

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cost is what something took. Of the two the processor time is what another run on a busier machine repeats.
type cost struct{ wall, cpu time.Duration }

func (c cost) plus(d cost) cost { return cost{c.wall + d.wall, c.cpu + d.cpu} }

// costOf measures this process and its workers.
func costOf(b *testing.B, do func()) cost {
	b.Helper()
	before := processorTime(b)
	wall := took(do)
	return cost{wall, processorTime(b) - before}
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var total time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} { // children that have ended
		var used syscall.Rusage
		if err := syscall.Getrusage(who, &used); err != nil {
			b.Fatal(err)
		}
		total += time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		b.Fatal(err)
	}
	for _, list := range lists {
		pids, _ := os.ReadFile(list) // a thread may have ended
		for pid := range strings.FieldsSeq(string(pids)) {
			total += timeOf(pid)
		}
	}
	return total
}

// tick is the unit of /proc/PID/stat on every Linux.
const tick = 10 * time.Millisecond

// timeOf is the processor time of a process that may just be ending.
func timeOf(pid string) time.Duration {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(stat, []byte(") ")) // its name may hold blanks
	fields := strings.Fields(string(rest))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tick
}
