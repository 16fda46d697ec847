package pending

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

var id, other, third = stconfig.SampleID, fleet.DeviceIDOf([32]byte{1}), fleet.DeviceIDOf([32]byte{2})

// daemon is one Syncthing, as far as pending things go.
type daemon struct {
	mu      sync.Mutex
	asked   []fleet.Pending
	doc     stconfig.Value
	calls   []string
	err     error
	reading func() // while an answer is on its way
	reads   []time.Time
}

func (d *daemon) Pending(context.Context, fleet.DeviceID) ([]fleet.Pending, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := slices.Clone(d.asked)
	d.reads = append(d.reads, time.Now())
	if d.reading != nil {
		reading := d.reading
		d.reading = nil
		d.mu.Unlock()
		reading()
		d.mu.Lock()
	}
	return all, d.err
}

func (d *daemon) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
}

// times says when it was read.
func (d *daemon) times() []time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.reads)
}

func (d *daemon) DismissPending(_ context.Context, _ fleet.DeviceID, asks fleet.Pending) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, "dismiss "+string(asks.From)+asks.Folder)
	return d.err
}

func (d *daemon) Amend(_ context.Context, _ fleet.DeviceID, _ string,
	change func(stconfig.Value) (stconfig.Value, error)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	to, err := change(d.doc)
	if err != nil {
		return err
	}
	for _, c := range stconfig.Diff(d.doc, to) {
		d.calls = append(d.calls, c.Key.String())
	}
	d.doc = to
	return d.err
}

// inbox runs one in a bubble until the test ends.
func inbox(t *testing.T, d *daemon, o Options) *Inbox {
	t.Helper()
	o.Daemon = d
	i := New(o)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- i.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	})
	return i
}

func (i *Inbox) text() string {
	all := i.Pending()
	slices.SortFunc(all, func(a, b fleet.Pending) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Folder, b.Folder))
	})
	var out []string
	for _, asks := range all {
		out = append(out, strings.TrimSpace(map[fleet.DeviceID]string{other: "other",
			third: "third"}[asks.From]+" "+asks.Folder))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func event(kind string, data any) fleet.DaemonEvent {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	return fleet.DaemonEvent{Type: kind, Data: text}
}

type fields = map[string]any

func online(t *testing.T, i *Inbox) {
	t.Helper()
	i.Online(id)
	pass(t, 2*defaultQuiet)
}

// pass lets simulated time pass.
func pass(t *testing.T, d time.Duration) {
	t.Helper()
	synctest.Wait()
	waited := make(chan struct{})
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	go func() { <-ctx.Done(); close(waited) }()
	<-waited
	synctest.Wait()
}

func TestADaemonIsReadOnceAndThenItsEventsTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{asked: []fleet.Pending{{From: other, Name: "new"}, {From: third, Folder: "p"}}}
		changed := 0
		i := inbox(t, d, Options{Changed: func(fleet.DeviceID) { changed++ }})
		want := func(when, want string, changes int) {
			t.Helper()
			if got := i.text(); got != want || changed != changes {
				t.Errorf("%s: got %q after %d changes, want %q after %d", when, got, changed, want, changes)
			}
		}
		i.Event(id, event(devicesChanged, fields{"added": []fields{{"deviceID": third}}}))
		want("before it is read", "", 0)
		online(t, i)
		want("read", "other, third p", 1)
		if all := i.Pending(); all[0].Device != id {
			t.Errorf("got %+v", all)
		}
		i.Event(id, event(devicesChanged, fields{"removed": []fields{{"deviceID": other}},
			"added": []fields{{"deviceID": third, "name": "x"}}}))
		want("devices changed", "third, third p", 2)
		i.Event(id, event(foldersChanged,
			fields{"added": []fields{{"deviceID": other, "folderID": "p", "receiveEncrypted": "true"},
				{"deviceID": other, "folderID": "q"}}}))
		want("folders came", "other p, other q, third, third p", 3)
		if all := i.Of(id); !slices.ContainsFunc(all, func(p fleet.Pending) bool { return p.Encrypted && p.Folder == "p" }) {
			t.Errorf("got %+v", all)
		}
		i.Event(id, event(foldersChanged, fields{"removed": []fields{{"folderID": "p"}}}))
		want("a folder is gone everywhere", "other q, third", 4)
		i.Event(id, event(foldersChanged, fields{"removed": []fields{{"folderID": "unknown", "deviceID": "nonsense"}}}))
		i.Event(id, fleet.DaemonEvent{Type: devicesChanged, Data: []byte("[1]")})
		i.Event(id, fleet.DaemonEvent{Type: "ConfigSaved"})
		want("nothing new", "other q, third", 4)
		d.asked = nil
		online(t, i)
		want("read again", "", 5)
		i.Forget(id)
		i.Event(id, event(devicesChanged, fields{"added": []fields{{"deviceID": third}}}))
		want("forgotten", "", 5)
	})
}

func TestAnEventDuringAReadHasItReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{}
		i := inbox(t, d, Options{})
		d.reading = func() {
			i.Event(id, event(devicesChanged, fields{"added": []fields{{"deviceID": other}}}))
			d.mu.Lock()
			defer d.mu.Unlock()
			d.asked = []fleet.Pending{{From: other}}
		}
		online(t, i)
		if got := i.text(); got != "other" {
			t.Errorf("got %q", got)
		}
	})
}

// Of an event that says too much, nothing is kept: what it said is in the whole list.
func TestAnEventWithoutItsDataHasTheDaemonReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{}
		i := inbox(t, d, Options{})
		i.Event(id, fleet.DaemonEvent{Type: foldersChanged}) // of somebody who is not known
		online(t, i)
		d.mu.Lock()
		d.asked = []fleet.Pending{{From: other, Folder: "a"}}
		d.mu.Unlock()
		i.Event(id, fleet.DaemonEvent{Type: foldersChanged})
		i.Event(id, fleet.DaemonEvent{Type: devicesChanged})
		pass(t, 2*defaultQuiet)
		if got, reads := i.text(), len(d.times()); got != "other a" || reads != 2 {
			t.Errorf("got %q after %d reads", got, reads)
		}
	})
}

func TestADaemonThatDoesNotAnswerIsReadAgainWhileItIsOnline(t *testing.T) {
	for name, end := range map[string]func(*Inbox){
		"it is gone":     func(i *Inbox) { i.Offline(id) },
		"it was deleted": func(i *Inbox) { i.Forget(id) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &daemon{asked: []fleet.Pending{{From: other}}, err: &fleet.Error{Code: fleet.CodeUnavailable,
					Message: "too busy"}}
				i := inbox(t, d, Options{})
				online(t, i)
				pass(t, time.Hour)
				reads := d.times()
				if n := len(reads); n < 5 || n > 20 {
					t.Fatalf("read %d times in an hour", n)
				}
				for n := 2; n < len(reads); n++ {
					if before, then := reads[n-1].Sub(reads[n-2]), reads[n].Sub(reads[n-1]); then < before || then > lastRetry {
						t.Errorf("a pause of %v after one of %v", then, before)
					}
				}
				d.fail(nil)
				pass(t, lastRetry)
				if got := i.text(); got != "other" {
					t.Errorf("got %q", got)
				}
				n := len(d.times())
				pass(t, time.Hour)
				if len(d.times()) != n {
					t.Error("what was read is read again")
				}
				d.fail(errors.New("again"))
				online(t, i)
				pass(t, firstRetry)
				if got := len(d.times()) - n; got != 2 {
					t.Errorf("read %d times, want 2: the first pause is the short one again", got)
				}
				n = len(d.times())
				end(i)
				pass(t, time.Hour)
				if len(d.times()) != n {
					t.Error("it is read on")
				}
			})
		})
	}
}

func TestADaemonThatGoesWhileItIsReadIsNotReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{err: &fleet.Error{Code: fleet.CodeUnavailable, Message: "gone"}}
		i := inbox(t, d, Options{})
		d.reading = func() { i.Offline(id) }
		online(t, i)
		pass(t, time.Hour)
		if n := len(d.times()); n != 1 {
			t.Errorf("read %d times", n)
		}
	})
}

func TestWhatIsNotThereIsNotAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{err: fleet.NotFoundf("not registered")}
		i := inbox(t, d, Options{})
		online(t, i)
		pass(t, time.Hour)
		if n := len(d.times()); n != 1 {
			t.Errorf("read %d times", n)
		}
	})
}

func TestAHostileDaemonFillsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := inbox(t, &daemon{}, Options{})
		online(t, i)
		var many []fields
		for n := range mostOfOne + 10 {
			many = append(many, fields{"deviceID": other, "folderID": fmt.Sprint(n),
				"folderLabel": strings.Repeat("x", 2*maxText)})
		}
		i.Event(id, event(foldersChanged, fields{"added": many}))
		all := i.Pending()
		if len(all) != mostOfOne || len(all[0].FolderLabel) != maxText {
			t.Errorf("got %d with labels of %d bytes", len(all), len(all[0].FolderLabel))
		}
	})
}

func TestWhatIsLetInIsAllThatChanges(t *testing.T) {
	sample := stconfig.Normalise(stconfig.Sample())
	folder := "photos/2026"
	known := sample.With("devices", stconfig.List(append(slices.Collect(sample.Get("devices").Values()),
		stconfig.Obj(stconfig.Member{Name: "deviceID", Value: stconfig.Text(string(other))}))...))
	has := known.With("folders", stconfig.List(stconfig.Obj(
		stconfig.Member{Name: "id", Value: stconfig.Text(folder)}, stconfig.Member{Name: "path", Value: stconfig.Text("/p")},
		stconfig.Member{Name: "devices",
			Value: stconfig.List(stconfig.Obj(stconfig.Member{Name: "deviceID", Value: stconfig.Text(string(third))}))})))
	device, whole := "devices."+string(other), "folders."+folder
	for name, one := range map[string]struct {
		doc        stconfig.Value
		asks       fleet.Pending
		name, path string
		want       map[string]string // the key that changes, and what is there afterwards
		code       fleet.Code
	}{
		"a device": {sample, fleet.Pending{From: other, Name: "new"}, "", "",
			map[string]string{device: "", device + ".name": "new"}, ""},
		"a device by another name": {sample, fleet.Pending{From: other, Name: "new"}, "N", "",
			map[string]string{device: "", device + ".name": "N"}, ""},
		"a device that is in already": {known, fleet.Pending{From: other}, "", "", nil, ""},
		"a folder": {known, fleet.Pending{From: other, Folder: folder, FolderLabel: "P"}, "", "/srv/p",
			map[string]string{whole: "", whole + ".label": "P", whole + ".path": "/srv/p", whole + ".type": "sendreceive",
				whole + ".devices." + string(other) + ".deviceID": string(other)}, ""},
		"an encrypted folder": {known, fleet.Pending{From: other, Folder: folder, Encrypted: true}, "L", "/srv/p",
			map[string]string{whole: "", whole + ".label": "L", whole + ".type": "receiveencrypted"}, ""},
		"a folder that is there": {has, fleet.Pending{From: other, Folder: folder}, "", "",
			map[string]string{whole + ".devices." + string(other): "", whole + ".path": "/p", whole + ".devices." +
				string(third) + ".deviceID": string(third)}, ""},
		"a folder without a path": {known, fleet.Pending{From: other, Folder: folder}, "", "", nil, fleet.CodeInvalid},
		"a folder of nobody we know": {sample, fleet.Pending{From: other, Folder: folder}, "", "/srv/p", nil,
			fleet.CodeConflict},
	} {
		t.Run(name, func(t *testing.T) {
			one.asks.Device = stconfig.SampleID
			d := &daemon{doc: one.doc}
			if err := New(Options{Daemon: d}).Accept(t.Context(), one.asks, one.name, one.path); fleet.CodeOf(err) != one.code {
				t.Fatalf("got %v, want %s", err, one.code)
			}
			var changed []string
			for text, want := range one.want {
				key, err := stconfig.ParseKey(text)
				if err != nil {
					t.Fatal(err)
				}
				if want == "" {
					changed = append(changed, text)
				} else if got := stconfig.Lookup(d.doc, key).Str(); got != want {
					t.Errorf("%s is %q, want %q", text, got, want)
				}
			}
			if !slices.Equal(d.calls, changed) {
				t.Errorf("%v changed, want %v", d.calls, changed)
			}
		})
	}
}

func TestAnswersDropWhatAskedAndRespectTheMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mode := fleet.ModeOn
		d := &daemon{doc: stconfig.Sample(), asked: []fleet.Pending{{From: other}, {From: third}}}
		i := inbox(t, d, Options{Mode: func(fleet.DeviceID) fleet.Mode { return mode }})
		online(t, i)
		asks := fleet.Pending{Device: id, From: other}
		mode = fleet.ModeObserve
		if err := i.Dismiss(t.Context(), asks); fleet.CodeOf(err) != fleet.CodeConflict || len(d.calls) > 0 {
			t.Errorf("got %v, %v", err, d.calls)
		}
		mode = fleet.ModeOn
		if err := i.Accept(t.Context(), asks, "", ""); err != nil || i.text() != "third" {
			t.Errorf("got %v, left %q", err, i.text())
		}
		if err := i.Dismiss(t.Context(), fleet.Pending{Device: id, From: third}); err != nil || i.text() != "" ||
			d.calls[len(d.calls)-1] != "dismiss "+string(third) {
			t.Errorf("got %v, left %q, %v", err, i.text(), d.calls)
		}
		d.err = &fleet.Error{Code: fleet.CodeUnavailable, Message: "gone"}
		if err := i.Dismiss(t.Context(), asks); fleet.CodeOf(err) != fleet.CodeUnavailable {
			t.Errorf("got %v", err)
		}
	})
}

func TestAWholeFleetIsReadBetweenThePolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{asked: []fleet.Pending{{From: other}}}
		i := inbox(t, d, Options{})
		for n := range fewDue {
			i.Online(fleet.DeviceID(fmt.Sprint("another ", n)))
		}
		online(t, i)
		if got := len(i.Pending()); got != 0 {
			t.Fatalf("%d daemons were read over connections of their own", got)
		}
		ask := func(ctx context.Context) ([]fleet.Pending, error) { return d.Pending(ctx, id) }
		i.Between(t.Context(), id, ask)
		pass(t, time.Second)
		i.Between(t.Context(), id, func(context.Context) ([]fleet.Pending, error) {
			t.Error("it is read again")
			return nil, nil
		})
		if got := len(i.Of(id)); got != 1 {
			t.Errorf("%d are pending, want 1", got)
		}
		if got := len(i.Pending()); got != fewDue+1 { // few are left: they need not wait
			t.Errorf("%d daemons are read, want %d", got, fewDue+1)
		}
	})
}

func TestDaemonsThatAreGoneKeepNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := inbox(t, &daemon{asked: []fleet.Pending{{From: other}}}, Options{})
		for n := range fewDue {
			i.Online(fleet.DeviceID(fmt.Sprint("another ", n)))
		}
		online(t, i)
		i.Offline("another 0")
		pass(t, time.Second)
		if got := len(i.Of(id)); got != 1 {
			t.Errorf("%d are pending, want 1", got)
		}
		if got := len(i.Of("another 0")); got != 0 {
			t.Errorf("a daemon that is gone was read")
		}
	})
}
