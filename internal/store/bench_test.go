package store

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"muster/internal/fleet"
)

// BenchmarkPutDevice registers new devices, each acknowledged when it is durable; the number is writes per second.
func BenchmarkPutDevice(b *testing.B) {
	benchBoth(b, func(b *testing.B, options Options) {
		s := open(b, options)
		for _, callers := range []int{1, 16, 64} {
			first := callers * 1_000_000
			b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
				concurrently(b, callers, func(n int) error {
					d := deviceN(n)
					d.ID = fleet.DeviceIDOf([32]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(first >> 16), byte(first >> 24)})
					_, _, err := s.PutDevice(b.Context(), d, nil)
					return err
				})
			})
		}
	})
}

// BenchmarkRegistryAfterPut is the price of looking at 10,000 devices after each of them changed.
func BenchmarkRegistryAfterPut(b *testing.B) {
	s := open(b, Options{Home: b.TempDir(), Seal: key(b, 1)})
	var all sync.WaitGroup
	for w := range 50 {
		all.Go(func() {
			for n := range 200 {
				put(b, s, deviceN(w*200+n))
			}
		})
	}
	all.Wait()
	for n := 0; b.Loop(); n++ {
		put(b, s, deviceN(n%10_000))
		if len(must(s.Registry(b.Context()))(b).Devices) != 10_000 {
			b.Fatal("a device is missing")
		}
	}
}

func benchBoth(b *testing.B, bench func(*testing.B, Options)) {
	b.Run("sqlite", func(b *testing.B) { bench(b, Options{Home: b.TempDir(), Seal: key(b, 1)}) })
	b.Run("postgres", func(b *testing.B) {
		server, err := postgres()
		if err != nil {
			b.Fatal(err)
		}
		bench(b, Options{DSN: server.Database(b), Seal: key(b, 1)})
	})
}

func concurrently(b *testing.B, callers int, do func(n int) error) {
	b.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range callers {
		all.Go(func() {
			for {
				n := next.Add(1)
				if n > int64(b.N) {
					return
				}
				if err := do(int(n)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
}
