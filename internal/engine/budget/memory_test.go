package budget

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"
)

func TestTheLowestMemoryLimitOfTheContainerCounts(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"no control groups": {nil, 0},
		"a container": {map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		"no limit": {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 0},
		"a slice with a lower limit than its service": {map[string]string{
			"proc/self/cgroup": "0::/system.slice/muster.service\n",
			"sys/fs/cgroup/system.slice/muster.service/memory.max": "1073741824\n",
			"sys/fs/cgroup/system.slice/memory.max":                "268435456\n", "sys/fs/cgroup/memory.max": "max\n"},
			256 << 20},
		"version 1": {map[string]string{
			"proc/self/cgroup":                           "12:cpu,cpuacct:/x\n5:memory:/docker/abc\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "134217728\n"}, 128 << 20},
		"version 1 without a limit": {map[string]string{
			"proc/self/cgroup": "5:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		"both versions": {map[string]string{
			"proc/self/cgroup": "5:memory:/a\n0::/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "67108864\n",
			"sys/fs/cgroup/unified/a/memory.max": "max\n"}, 64 << 20},
		"nonsense": {map[string]string{"proc/self/cgroup": "hello\n0::/../..\n", "sys/fs/cgroup/memory.max": "many\n"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{}
			for path, text := range test.files {
				root[path] = &fstest.MapFile{Data: []byte(text)}
			}
			if got := memoryLimit(root); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestMemoryIsGivenBackAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		go func() { _ = GiveBackAtRest(ctx) }()
		time.Sleep(restCheck)
		synctest.Wait()
		cancel()
		if runtime.ReadMemStats(&after); after.NumForcedGC == before.NumForcedGC {
			t.Error("nothing was collected in a minute without work")
		}
	})
}

func TestTheTargetOfTheCollectorIsOursUnlessTheOperatorSetsOne(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for gogc, want := range map[string]int{"": heapGrowth, "100": 100} {
		t.Setenv("GOGC", gogc)
		debug.SetGCPercent(100)
		SetHeapGrowth()
		if got := debug.SetGCPercent(100); got != want {
			t.Errorf("GOGC=%q: the target is %d, want %d", gogc, got, want)
		}
	}
}
