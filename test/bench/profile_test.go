package bench

import (
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"syscall"
	"testing"
	"time"

	"muster/test/server"
	"muster/test/wait"
)

// MUSTER_BENCH_PROFILE=DIR keeps profiles of the server there, by the name of what was going on.
const profileVariable = "MUSTER_BENCH_PROFILE"

// profiled runs in the server's process: every SIGUSR1 begins a processor profile, every SIGUSR2 ends it and adds one
// of the memory.
func profiled() {
	dir := os.Getenv(profileVariable)
	if dir == "" || os.Getenv("MUSTER_TEST_PROCESS") != "server" {
		return
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		for s := range signals {
			if s == syscall.SIGUSR1 {
				if file, err := os.Create(filepath.Join(dir, "cpu")); err == nil {
					_ = pprof.StartCPUProfile(file)
				}
				continue
			}
			pprof.StopCPUProfile()
			if file, err := os.Create(filepath.Join(dir, "heap")); err == nil {
				runtime.GC()
				_ = pprof.WriteHeapProfile(file)
				_ = file.Close()
			}
			if file, err := os.Create(filepath.Join(dir, "goroutines")); err == nil {
				_ = pprof.Lookup("goroutine").WriteTo(file, 1)
				_ = file.Close()
			}
			_ = os.WriteFile(filepath.Join(dir, "done"), nil, 0o600)
		}
	}()
}

// profile keeps profiles of what the server does meanwhile, when they are asked for.
func profile(b testing.TB, s *server.Server, name string, do func()) {
	b.Helper()
	dir := os.Getenv(profileVariable)
	if dir == "" {
		do()
		return
	}
	_ = syscall.Kill(s.PID(), syscall.SIGUSR1)
	do()
	_ = syscall.Kill(s.PID(), syscall.SIGUSR2)
	wait.Until(b, func() string {
		if _, err := os.Stat(filepath.Join(dir, "done")); err != nil {
			return "the server's profile is not there yet"
		}
		return ""
	})
	pause(b.Context(), time.Second)
	for _, kind := range []string{"cpu", "heap", "goroutines"} {
		if err := os.Rename(filepath.Join(dir, kind), filepath.Join(dir, name+"."+kind)); err != nil {
			b.Fatal(err)
		}
	}
	_ = os.Remove(filepath.Join(dir, "done"))
}
