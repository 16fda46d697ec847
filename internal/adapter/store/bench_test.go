package store

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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

// BenchmarkDeviceProof is what the proof of a device costs: a device is replaced with it, and in turn by the same
// statements without it.
func BenchmarkDeviceProof(b *testing.B) {
	benchBoth(b, func(b *testing.B, options Options) {
		s := open(b, options)
		d := put(b, s, deviceN(1))
		const writes = 1000
		for b.Loop() {
			var proven, plain time.Duration
			for n := range writes {
				d.Label = fmt.Sprint(n)
				began := time.Now()
				put(b, s, d)
				proven += time.Since(began)
				began = time.Now()
				putUnproven(b, s, d)
				plain += time.Since(began)
			}
			b.Logf("%v with the proof, %v without: %.2f times", (proven / writes).Round(time.Microsecond),
				(plain / writes).Round(time.Microsecond), float64(proven)/float64(plain))
			b.ReportMetric(float64(proven)/float64(plain), "times-unproven")
		}
	})
}

// putUnproven replaces a device as Muster did before there were proofs: the row keeps the proof that it has.
func putUnproven(b *testing.B, s *Store, d fleet.Device) {
	b.Helper()
	_, err := write(b.Context(), s, "put device", func(t *tx) (none struct{}, err error) {
		var label string
		var key []byte
		err = t.row(`SELECT label, api_key FROM devices WHERE id = $1`, string(d.ID)).Scan(&label, &key)
		if err == nil {
			_, err = s.seal.Open("devices", string(d.ID), "api_key", key)
		}
		if err != nil {
			return none, err
		}
		t.forget()
		t.record("device.replace", string(d.ID), d.Label)
		t.touch(d.ID)
		t.register(func(c *contents) { c.device(d.ID, func(r *fleet.Registered) { r.Device = d }) })
		return none, t.exec(`UPDATE devices SET label = $2, api_key = $3, api_address = $4, api_port = $5, updated_at = $6
			WHERE id = $1`, string(d.ID), d.Label, s.sealAPIKey(d), d.APIAddress, d.APIPort, millis(t.now))
	})
	if err != nil {
		b.Fatal(err)
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

// BenchmarkIntent is what it costs to note for which generation something is sent to a device: an intent of a new
// generation, and in turn one of the same generation, which notes nothing.
func BenchmarkIntent(b *testing.B) {
	benchBoth(b, func(b *testing.B, options Options) {
		s := open(b, options)
		d := put(b, s, deviceN(1))
		send := func(generation int64) time.Duration {
			began := time.Now()
			id := must(s.BeginIntent(b.Context(), fleet.Intent{Device: d.ID, Generation: generation, Writes: []byte("w")},
				nil))(b)
			if err := s.FinishIntent(b.Context(), id, fleet.Ending{Outcome: fleet.OutcomeApplied}); err != nil {
				b.Fatal(err)
			}
			return time.Since(began)
		}
		const writes = 500
		generation := int64(1)
		for b.Loop() {
			var noted, plain time.Duration
			for range writes {
				generation++
				noted += send(generation)
				send(generation) // The second one of a generation notes what the first one left.
				plain += send(generation)
			}
			b.Logf("%v with the note, %v without: %.2f times", (noted / writes).Round(time.Microsecond),
				(plain / writes).Round(time.Microsecond), float64(noted)/float64(plain))
			b.ReportMetric(float64(noted)/float64(plain), "times-plain")
		}
	})
}
