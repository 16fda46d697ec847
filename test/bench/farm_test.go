package bench

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"muster/internal/fleet"
	"muster/internal/stsim"
)

// place is where a daemon is, and how to reach it.
type place struct {
	ID      fleet.DeviceID `json:"id"`
	Key     string         `json:"key"`
	Host    string         `json:"host"`
	Port    int            `json:"port"`
	Folders []string       `json:"folders"`
}

// order is what the farm is told to do.
type order struct {
	Do     string `json:"do"` // start, change, trouble, lack, break, counters, agents, tidy
	Server string `json:"server"`
	Count  int    `json:"count"`
	Daemon int    `json:"daemon"`
	Number int64  `json:"number"`
	Folder string `json:"folder"`
	On     bool   `json:"on"`
}

type outcome struct {
	Daemons  []place   `json:"daemons,omitempty"`
	At       time.Time `json:"at"` // when the change happened
	Accepted int       `json:"accepted"`
	Requests int       `json:"requests"`
}

// runFarm is the farm's process.
func runFarm(in io.Reader, out io.Writer) error {
	f := &farmProcess{stop: make(chan struct{})}
	defer f.close()
	return obey(in, out, f.do)
}

type farmProcess struct {
	farm     *stsim.Farm
	flapping sync.WaitGroup
	stop     chan struct{}

	agents    sync.WaitGroup
	endAgents context.CancelFunc // nil: none run
}

func (f *farmProcess) do(o order) (outcome, error) {
	switch o.Do {
	case "start":
		return f.start(o.Count)
	case "change":
		err := f.farm.Daemon(o.Daemon).SetSummary(o.Folder, func(s *fleet.FolderSummary) { s.Sequence = o.Number })
		return outcome{At: time.Now()}, err
	case "trouble":
		f.trouble(o.On)
		return outcome{}, nil
	case "lack":
		f.lack(o.On, int(o.Number))
		return outcome{}, nil
	case "break":
		return outcome{}, f.breakFolders(o.On, int(o.Number))
	case "counters":
		return f.counters(), nil
	case "agents":
		f.runAgents(o.Server)
		return outcome{}, nil
	case "tidy":
		debug.FreeOSMemory()
		return outcome{}, nil
	}
	return outcome{}, fmt.Errorf("the farm cannot %q", o.Do)
}

func (f *farmProcess) start(count int) (outcome, error) {
	var err error
	f.farm, err = stsim.New(stsim.Options{
		Count: count, Seed: 1, Folders: farmFolders(), Shared: true, Quiet: true,
		Timing: stsim.Timing{Summary: time.Millisecond},
	})
	if err != nil {
		return outcome{}, err
	}
	if err := f.farm.Start(); err != nil {
		return outcome{}, err
	}
	var started outcome
	for _, d := range f.farm.Daemons() {
		started.Daemons = append(started.Daemons, place{d.ID(), d.APIKey(), d.Host(), d.Port(), d.FolderIDs()})
	}
	return started, nil
}

func (f *farmProcess) close() {
	close(f.stop)
	f.flapping.Wait()
	f.runAgents("")
	if f.farm != nil {
		_ = f.farm.Close()
	}
}

// runAgents ends the agents of all daemons, and starts those of another server.
func (f *farmProcess) runAgents(server string) {
	if f.endAgents != nil {
		f.endAgents()
		f.agents.Wait()
		f.endAgents = nil
	}
	if server == "" {
		return
	}
	var ctx context.Context
	ctx, f.endAgents = context.WithCancel(context.Background())
	f.agents.Go(func() { _ = f.farm.RunAgents(ctx, server) })
}

// counters since they were asked for last.
func (f *farmProcess) counters() (sum outcome) {
	for _, d := range f.farm.Daemons() {
		c := d.Counters()
		d.ResetCounters()
		sum.Accepted += c.Accepted
		sum.Requests += c.Requests
	}
	return sum
}

func counters(b testing.TB, sim *child) (sum outcome) {
	b.Helper()
	sim.ask(b, order{Do: "counters"}, &sum)
	return sum
}

func (outcome) each(n int) float64 { return float64(n) / float64(daemons()) }

// Of a hundred daemons one flaps, one hangs and one is hostile while there is trouble.
const (
	flaps = iota
	hangs
	hostile
	troubled
)

func kindOf(daemon int) int { return daemon % 100 }

func healthy(daemon int) bool { return kindOf(daemon) >= troubled }

var hostilities = []stsim.Faults{
	{HugeBody: 10 << 30}, {GzipBomb: 10 << 30}, {Deep: 1_000_000}, {WrongTypes: true}, {Negative: true}, {HTML: true},
	{Redirect: "http://127.0.0.1:1/"}, {Drip: time.Second}, {Paths: []string{"/rest/events"}, Flood: 1000},
}

func (f *farmProcess) trouble(on bool) {
	if !on {
		close(f.stop)
		f.flapping.Wait()
		f.stop = make(chan struct{})
	}
	for i, d := range f.farm.Daemons() {
		switch {
		case !on:
			d.SetFaults(stsim.Faults{})
		case kindOf(i) == hangs:
			d.SetFaults(stsim.Faults{Hang: true})
			f.flapping.Go(func() { // what is open would go on as it was
				d.Crash()
				_ = d.Start()
			})
		case kindOf(i) == hostile:
			d.SetFaults(hostilities[i/100%len(hostilities)])
		case kindOf(i) == flaps:
			f.flapping.Go(func() { f.flap(d) })
		}
	}
}

// lack has so many daemons a second, one after the other, say that they lack other bytes.
func (f *farmProcess) lack(on bool, perSecond int) {
	if !on {
		close(f.stop)
		f.flapping.Wait()
		f.stop = make(chan struct{})
		return
	}
	f.flapping.Go(func() {
		tick := time.NewTicker(time.Second / time.Duration(perSecond))
		defer tick.Stop()
		all := f.farm.Daemons()
		for i := 0; ; i++ {
			select {
			case <-tick.C:
				d := all[i%len(all)]
				_ = d.SetSummary(d.FolderIDs()[0], func(s *fleet.FolderSummary) {
					s.NeedFiles, s.NeedBytes = 1, int64(i)+1
				})
			case <-f.stop:
				return
			}
		}
	})
}

// breakFolders stops a folder of the first daemons, or has items of it fail, or mends it.
func (f *farmProcess) breakFolders(on bool, count int) error {
	for i, d := range f.farm.Daemons()[:count] {
		folder := d.FolderIDs()[0]
		var err error
		switch {
		case !on:
			err = d.HealFolder(folder)
		case i%2 == 0:
			err = d.StopFolder(folder, stsim.PathMissing)
		default:
			err = d.FailItems(folder, 3, stsim.NoPermission)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *farmProcess) flap(d *stsim.Daemon) {
	tick := time.NewTicker(3 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			d.Crash()
			_ = d.Start()
		case <-f.stop:
			return
		}
	}
}

// The farm is started once for all benchmarks: making ten thousand identities takes a while.
var farm struct {
	once    sync.Once
	child   *child
	daemons []place
	err     error
}

func startFarm(b testing.TB) (*child, []place) {
	b.Helper()
	farm.once.Do(func() {
		if farm.child, farm.err = startChild("farm"); farm.err != nil {
			return
		}
		var started outcome
		farm.child.ask(b, order{Do: "start", Count: daemons()}, &started)
		farm.daemons = started.Daemons
	})
	if farm.err != nil {
		b.Fatal(farm.err)
	}
	return farm.child, farm.daemons
}

func stopFarm() {
	if farm.child != nil {
		farm.child.stop()
	}
}
