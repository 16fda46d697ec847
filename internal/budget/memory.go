package budget

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// share of a memory limit that the Go heap may fill: the rest is for stacks, workers and the kernel's part.
const heapPercent = 90

// unlimited: cgroup v1 writes the largest multiple of a page where there is no limit.
const unlimited = 1 << 60

// SetMemory has the garbage collector keep the process below the memory limit of its container, so that the kernel
// does not end it. It gives 0 where there is no such limit, and where GOMEMLIMIT already says what is wanted.
func SetMemory() (heap int64) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return 0
	}
	limit := memoryLimit(os.DirFS("/"))
	if limit == 0 {
		return 0
	}
	heap = limit / 100 * heapPercent
	debug.SetMemoryLimit(heap)
	return heap
}

// memoryLimit is the lowest limit of the control groups that this process is in, 0 without one. The root holds /proc
// and /sys.
func memoryLimit(root fs.FS) int64 {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	lowest := int64(math.MaxInt64)
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // hierarchy:controllers:path
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[1] == "":
			lowest = min(lowest, lowestAbove(root, "sys/fs/cgroup", parts[2], "memory.max"))
			lowest = min(lowest, lowestAbove(root, "sys/fs/cgroup/unified", parts[2], "memory.max"))
		case strings.Contains(","+parts[1]+",", ",memory,"):
			lowest = min(lowest, lowestAbove(root, "sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes"))
		}
	}
	if lowest >= unlimited {
		return 0
	}
	return lowest
}

// lowestAbove is the lowest limit of a group and of those that it is in. Inside a container the path may be that of
// the host, of which only the root is there.
func lowestAbove(root fs.FS, mount, group, file string) int64 {
	lowest := int64(math.MaxInt64)
	for at := path.Clean("/" + group); ; at = path.Dir(at) {
		if text, err := fs.ReadFile(root, path.Join(mount, at, file)); err == nil {
			limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			if err == nil && limit > 0 { // "max" is none
				lowest = min(lowest, limit)
			}
		}
		if at == "/" {
			return lowest
		}
	}
}
