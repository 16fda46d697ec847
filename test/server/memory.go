package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"syscall"

	"muster/test/wait"
)

// Memory is what a server holds after it collected its garbage and gave free memory back. In bytes.
type Memory struct {
	Live     int64 // of the heap, in use
	Stacks   int64 // of goroutines
	Resident int64 // of the process, without the pages of the program's file
	Program  int64 // resident pages of the program's file: each page that was needed once
}

func (m Memory) String() string {
	mib := func(bytes int64) float64 { return float64(bytes) / (1 << 20) }
	return fmt.Sprintf("%.1f MiB of heap in use, %.1f of stacks; resident %.1f, and %.1f of the program's file",
		mib(m.Live), mib(m.Stacks), mib(m.Resident), mib(m.Program))
}

// Less is what m holds more than before.
func (m Memory) Less(before Memory) Memory {
	return Memory{m.Live - before.Live, m.Stacks - before.Stacks, m.Resident - before.Resident, m.Program - before.Program}
}

// Plus is both together.
func (m Memory) Plus(more Memory) Memory {
	return Memory{m.Live + more.Live, m.Stacks + more.Stacks, m.Resident + more.Resident, m.Program + more.Program}
}

const (
	memorySignal = syscall.SIGHUP
	memoryFile   = "memory.json" // in the home
	heapFile     = "heap.pprof"  // likewise: a profile of the same moment
)

// Memory has the server collect its garbage, and gives what it holds then. A profile of its heap is in its home.
func (s *Server) Memory() (held Memory) {
	s.t.Helper()
	path := filepath.Join(s.Home, memoryFile)
	_ = os.Remove(path)
	if err := s.process.Process.Signal(memorySignal); err != nil {
		s.t.Fatal(err)
	}
	wait.Until(s.t, func() string {
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &held)
		}
		if err != nil {
			return err.Error()
		}
		return ""
	})
	return held
}

// reportMemory writes what this process holds into its home, each time that it is asked to.
func reportMemory(ctx context.Context, home string) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, memorySignal)
	defer signal.Stop(asked)
	for {
		select {
		case <-asked:
			if err := writeMemory(home); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		case <-ctx.Done():
			return
		}
	}
}

func writeMemory(home string) error {
	runtime.GC() // what this one finds unused in pools is free with the next one
	debug.FreeOSMemory()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	held := Memory{Live: int64(stats.HeapAlloc), Stacks: int64(stats.StackInuse)}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	held.Resident, held.Program = statusBytes(status, "RssAnon:"), statusBytes(status, "RssFile:")
	heap, err := os.Create(filepath.Join(home, heapFile))
	if err != nil {
		return err
	}
	defer heap.Close()
	if err := pprof.WriteHeapProfile(heap); err != nil {
		return err
	}
	text, err := json.Marshal(held)
	if err != nil {
		return err
	}
	next := filepath.Join(home, memoryFile+".new")
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(home, memoryFile))
}

// statusBytes is a member of /proc/PID/status.
func statusBytes(status []byte, name string) int64 {
	for line := range bytes.Lines(status) {
		if fields := bytes.Fields(line); len(fields) > 1 && string(fields[0]) == name {
			kib, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			return kib << 10
		}
	}
	return 0
}
