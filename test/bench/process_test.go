package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const clockTick = 10 * time.Millisecond // USER_HZ is 100 on every Linux that Go runs on

// usage is what a process and its children have taken.
type usage struct {
	cpu      time.Duration
	resident int64 // bytes
	files    int   // descriptors of the process itself
}

// usageOf reads /proc. Children are the server's template workers.
func usageOf(b testing.TB, pid int) usage {
	b.Helper()
	var sum usage
	for _, p := range family(pid) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
		if err != nil {
			continue // a worker that has just ended
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		for _, i := range []int{11, 12, 13, 14} { // utime, stime and those of children that ended
			ticks, err := strconv.ParseInt(fields[i], 10, 64)
			if err != nil {
				b.Fatalf("/proc/%d/stat: %v", p, err)
			}
			sum.cpu += time.Duration(ticks) * clockTick
		}
		pages, err := strconv.ParseInt(fields[21], 10, 64)
		if err != nil {
			b.Fatalf("/proc/%d/stat: %v", p, err)
		}
		sum.resident += pages * int64(os.Getpagesize())
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		b.Fatal(err)
	}
	sum.files = len(files)
	return sum
}

// family is a process and its children.
func family(pid int) []int {
	all := []int{pid}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			all = append(all, child)
		}
	}
	return all
}

func perDevice(bytes int64) string {
	return fmt.Sprintf("%.1f KiB", float64(bytes)/1024/float64(daemons()))
}

func cores(used, over time.Duration) float64 { return float64(used) / float64(over) }
