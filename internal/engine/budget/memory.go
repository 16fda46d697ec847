package budget

import (
	"context"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// heapPercent is the part of a memory limit that the Go heap may use. The rest is for stacks, workers and kernel
// memory.
const heapPercent = 90

// heapGrowth is how far the heap may grow over what is in use, in percent, before garbage is collected. Go's own is
// 100. What lives long is scattered over the pages that the heap had while it was largest, and such a page cannot be
// given back. With 100, a fleet of 10,000 devices took a tenth more memory after first contact, for as long as the
// server ran; the processor time of first contact and at rest was the same.
const heapGrowth = 70

// SetHeapGrowth sets the target of the garbage collector, unless GOGC says another.
func SetHeapGrowth() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
}

// unlimited is the limit from which on a control group counts as unlimited. cgroup v1 shows the largest multiple of a
// page when it has no limit.
const unlimited = 1 << 60

// SetMemory makes the garbage collector keep the process below the memory limit of its container, so that the kernel
// does not kill it. It returns the limit of the heap in bytes, or 0 when the container has no limit or GOMEMLIMIT is
// already set.
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

// memoryLimit returns the lowest limit, in bytes, of the control groups that contain this process, or 0 when there is
// none. root is the file system's root; memoryLimit reads /proc and /sys.
func memoryLimit(root fs.FS) int64 {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	lowest := int64(math.MaxInt64)
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // the format is hierarchy:controllers:path
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

// lowestAbove returns the lowest limit of a control group and of the groups that contain it. Inside a container the
// path may be the host's, of which only the root exists here.
func lowestAbove(root fs.FS, mount, group, file string) int64 {
	lowest := int64(math.MaxInt64)
	for at := path.Clean("/" + group); ; at = path.Dir(at) {
		if text, err := fs.ReadFile(root, path.Join(mount, at, file)); err == nil {
			limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			if err == nil && limit > 0 { // "max" means no limit and does not parse.
				lowest = min(lowest, limit)
			}
		}
		if at == "/" {
			return lowest
		}
	}
}

const (
	restCheck       = time.Minute
	restCollections = 1 // GiveBackAtRest itself makes one collection per round.
)

// GiveBackAtRest returns unused memory to the operating system while the process is idle, until ctx ends. Without it
// the collector lets the heap grow by heapGrowth and keeps that memory. The process counts as idle when no
// garbage collection was needed in the last round.
func GiveBackAtRest(ctx context.Context) error {
	tick := time.NewTicker(restCheck)
	defer tick.Stop()
	var stats debug.GCStats
	debug.ReadGCStats(&stats)
	for {
		before := stats.NumGC
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		debug.ReadGCStats(&stats)
		if stats.NumGC-before <= restCollections {
			debug.FreeOSMemory()
		}
	}
}
