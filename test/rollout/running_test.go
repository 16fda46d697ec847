package rollout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/wait"
)

const longSoak = 5 * time.Second // in which a person does something

func TestUpToTenDevicesAreAdmittedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10, server.Options{})
	w.template("options", `{"maxFolderConcurrency": 3}`)
	wait.Until(t, func() string {
		for _, d := range w.farm.Daemons() {
			if option(d, "maxFolderConcurrency") != "3" {
				return d.Name() + " does not have it"
			}
		}
		return ""
	})
	if all, err := w.Client.Rollouts(t.Context(), client.List{}); err != nil || len(all) > 0 {
		t.Errorf("got %+v, %v", all, err)
	}
}

func TestAGoodTemplateGoesOutInThreeWaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 14, server.Options{})
	w.template("options", `{"maxFolderConcurrency": 3}`)
	r := w.comesTo(fleet.RolloutSucceeded)
	if len(r.Waves) != 3 || r.Waves[0] != 1 || r.Waves[1] != 2 || r.Waves[2] != 11 || len(r.Members) != 14 {
		t.Errorf("got waves %v of %d members", r.Waves, len(r.Members))
	}
	everyOne(t, w.farm.Daemons(), "configured by one write", func(d *stsim.Daemon) bool {
		return option(d, "maxFolderConcurrency") == "3" && d.Counters().Writes == 1
	})
	// It can be taken back afterwards, too.
	w.steer(w.undo, r.ID)
	w.isUndone(r.ID)
	w.inSync(w.farm.Daemons()...)
	everyOne(t, w.farm.Daemons(), "as before",
		func(d *stsim.Daemon) bool { return option(d, "maxFolderConcurrency") == "0" })
}

func TestATemplateIsEditedDuringItsRollout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 14, server.Options{Soak: longSoak})
	template := w.template("options", `{"maxFolderConcurrency": 3}`)
	w.reaches(1)
	w.edit(template, "options", `{"maxFolderConcurrency": 4}`)
	w.comesTo(fleet.RolloutSucceeded)
	everyOne(t, w.farm.Daemons(), "configured with the second text",
		func(d *stsim.Daemon) bool { return option(d, "maxFolderConcurrency") == "4" })
	if old := w.rollout(1); old.Status != string(fleet.RolloutSuperseded) {
		t.Errorf("got %+v", old.Rollout)
	}
	twice := 0
	for _, d := range w.farm.Daemons() {
		if d.Counters().Writes > 1 {
			twice++
		}
	}
	if twice > 1 {
		t.Errorf("%d daemons got both texts", twice)
	}
}

func TestATemplateIsDeletedDuringItsRollout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 14, server.Options{Soak: longSoak})
	template := w.template("options", `{"maxFolderConcurrency": 3}`)
	w.reaches(1)
	wait.Until(t, func() string {
		if len(w.written()) == 0 {
			return "nobody has it yet"
		}
		return ""
	})
	if err := w.Client.DeleteTemplate(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	w.comesTo(fleet.RolloutSuperseded)
	w.inSync(w.farm.Daemons()...)
	wait.Until(t, func() string {
		if touched := w.written(); option(touched[0], "maxFolderConcurrency") != "0" {
			return "the first device has it still"
		}
		return ""
	})
	if touched := w.written(); len(touched) != 1 {
		t.Errorf("%d daemons were written to", len(touched))
	}
}

func TestAPausedRolloutWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 14, server.Options{Soak: longSoak})
	w.template("options", `{"maxFolderConcurrency": 3}`)
	r := w.reaches(1)
	w.steer(func(id int64) (api.RolloutDetail, error) { return w.Client.PauseRollout(t.Context(), id) }, r.ID)
	over := time.NewTimer(longSoak + time.Second)
	<-over.C
	if got := w.rollout(r.ID); got.Wave != 1 || got.Status != string(fleet.RolloutPaused) {
		t.Errorf("got %+v", got.Rollout)
	}
	w.steer(func(id int64) (api.RolloutDetail, error) { return w.Client.ResumeRollout(t.Context(), id) }, r.ID)
	w.comesTo(fleet.RolloutSucceeded)
}

// A device that waited for its wave was unmanaged, "no template applies", or inSync with an empty plan.
func TestADeviceThatWaitsForItsWaveIsPending(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 14, server.Options{Soak: longSoak})
	w.template("options", `{"maxFolderConcurrency": 3}`)
	r := w.reaches(1)
	w.steer(func(id int64) (api.RolloutDetail, error) { return w.Client.PauseRollout(t.Context(), id) }, r.ID)
	r = w.rollout(r.ID)
	wantState := func(m api.RolloutMember, configuration fleet.Configuration, reason, next string) {
		t.Helper()
		wait.Until(t, func() string {
			s, err := w.Client.DeviceState(t.Context(), m.DeviceID)
			if err != nil || s.Configuration != string(configuration) || !strings.Contains(s.Reason, reason) ||
				!strings.Contains(s.Next, next) {
				return fmt.Sprintf("wave %d: got %+v, %v", m.Wave, s, err)
			}
			return ""
		})
	}
	for _, m := range r.Members {
		if m.Wave > r.Wave {
			wantState(m, fleet.ConfigPending, fmt.Sprintf("waits for wave %d of 3 of rollout %d", m.Wave, r.ID),
				fmt.Sprintf("muster rollout resume %d", r.ID))
		} else {
			wantState(m, fleet.ConfigInSync, "has what its templates ask for", "")
		}
	}
	w.steer(func(id int64) (api.RolloutDetail, error) { return w.Client.ResumeRollout(t.Context(), id) }, r.ID)
	w.comesTo(fleet.RolloutSucceeded)
	for _, m := range r.Members {
		wantState(m, fleet.ConfigInSync, "has what its templates ask for", "")
	}
}

// Who cannot be reached at the start is in no wave, gets nothing when it comes back too early, and what is its own
// after success.
func TestMembersOfflineAtTheStartFollowAfterSuccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 14, server.Options{Soak: longSoak}, 3, 7)
	early, late := w.farm.Daemon(3), w.farm.Daemon(7)
	w.template("options", `{"maxFolderConcurrency": 3}`)
	r := w.reaches(1)
	absent := 0
	for _, m := range r.Members {
		if m.Wave == 0 {
			absent++
		}
	}
	if absent != 2 || len(r.Members) != 14 {
		t.Errorf("%d of %d members are in no wave", absent, len(r.Members))
	}
	if err := early.Start(); err != nil {
		t.Fatal(err)
	}
	w.WaitConnection(early.ID(), fleet.Online)
	// The writes are read first: a rollout that is running after them was running when they were made.
	if writes := early.Counters().Writes; writes > 0 && w.newest().Status == string(fleet.RolloutRunning) {
		t.Error("a device that was not reachable at the start was written to before success")
	}
	w.comesTo(fleet.RolloutSucceeded)
	if err := late.Start(); err != nil {
		t.Fatal(err)
	}
	for _, d := range []*stsim.Daemon{early, late} {
		wait.Until(t, func() string {
			if option(d, "maxFolderConcurrency") != "3" {
				return d.Name() + " does not have it"
			}
			return ""
		})
	}
}

// A member that was written to and does not answer any more fails the gate of the API; one that comes back is resumed.
func TestAMemberThatVanishesHalts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 14, server.Options{Soak: longSoak, Patience: 15 * time.Second})
	w.template("options", `{"maxFolderConcurrency": 3}`)
	w.reaches(1)
	var canary *stsim.Daemon
	wait.Until(t, func() string {
		if touched := w.written(); len(touched) == 1 {
			canary = touched[0]
			return ""
		}
		return "nobody has it yet"
	})
	canary.Crash()
	r := w.comesTo(fleet.RolloutHalted)
	if r.Halt.Gate != string(fleet.GateAPI) || r.Halt.Device != string(canary.ID()) {
		t.Errorf("got %+v", r.Halt)
	}
	if touched := w.written(); len(touched) != 1 {
		t.Errorf("%d daemons were written to", len(touched))
	}
	if err := canary.Start(); err != nil {
		t.Fatal(err)
	}
	w.WaitConnection(canary.ID(), fleet.Online)
	w.steer(func(id int64) (api.RolloutDetail, error) { return w.Client.ResumeRollout(t.Context(), id) }, r.ID)
	w.comesTo(fleet.RolloutSucceeded)
}

// A program that looks at the fleet makes a change for everybody of a tag on one device.
func TestATagThatProgramsLookAtIsRolledOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 14, server.Options{})
	w.Template("set", "options.maxFolderConcurrency", `len(devices(tag="counted")) + 1`, "all")
	w.comesTo(fleet.RolloutSucceeded)
	w.reset()
	if _, err := w.Client.TagDevice(t.Context(), string(w.farm.Daemon(0).ID()), "not looked at"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Client.TagDevice(t.Context(), string(w.farm.Daemon(0).ID()), "counted"); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, func() string {
		if r := w.newest(); r.ID != 2 || r.Status != string(fleet.RolloutSucceeded) ||
			!strings.Contains(r.Cause, "counted") {
			return r.Status + " " + r.Cause
		}
		return ""
	})
	everyOne(t, w.farm.Daemons(), "counted again",
		func(d *stsim.Daemon) bool { return option(d, "maxFolderConcurrency") == "2" })
}

// A change for many waits for one approval: nothing is written before, and nothing waits on any device.
func TestARolloutOverManyDevicesWaitsForOneApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 8, server.Options{ApprovalThreshold: "50%", Waves: "2,rest"})
	w.template("options", `{"maxFolderConcurrency": 3}`)
	r := w.comesTo(fleet.RolloutWaiting)
	if r.Approval == nil || !strings.Contains(r.Approval.Reason, "50%") || !strings.Contains(r.Next, "`muster waiting`") {
		t.Errorf("got %+v, next %q", r.Approval, r.Next)
	}
	for _, d := range w.farm.Daemons() {
		w.WaitState(d.ID(), "waits for the rollout", func(s api.DeviceState) bool {
			return s.Configuration == string(fleet.ConfigPending) &&
				strings.Contains(s.Reason, "waits for the approval of rollout")
		})
	}
	if touched := w.written(); len(touched) > 0 {
		t.Fatalf("%d daemons were written to without approval", len(touched))
	}
	w.says("Approved by", "rollout", "approve", "1")
	r = w.comesTo(fleet.RolloutSucceeded)
	if len(r.Waves) != 2 || r.Waves[0] != 2 || r.Waves[1] != 6 {
		t.Errorf("got waves %v", r.Waves)
	}
	everyOne(t, w.farm.Daemons(), "configured",
		func(d *stsim.Daemon) bool { return option(d, "maxFolderConcurrency") == "3" })
	// Its undo needs none.
	w.steer(w.undo, r.ID)
	w.comesTo(fleet.RolloutSucceeded)
	w.inSync(w.farm.Daemons()...)
	everyOne(t, w.farm.Daemons(), "as before",
		func(d *stsim.Daemon) bool { return option(d, "maxFolderConcurrency") == "0" })
}

// Whoever made the change does not approve it: not with another token of theirs, not with the token in the home folder,
// and not as a user who was created since.
func TestAnotherPersonApproves(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 8, server.Options{ApprovalThreshold: "4", FourEyes: true})
	anna, nora := w.person("anna"), w.person("nora")
	admin := w.Client
	w.Client = anna
	w.template("options", `{"maxFolderConcurrency": 3}`)
	w.Client = admin
	r := w.comesTo(fleet.RolloutWaiting)
	made, err := anna.CreateToken(t.Context(), "another", string(fleet.RoleAdmin))
	if err != nil || made.Owner != "anna" {
		t.Fatal(made.Owner, err)
	}
	for who, c := range map[string]*client.Client{"the maker": anna, "a token of the maker": w.with(made.Secret),
		"a user who was created since": w.person("late")} {
		if _, err := c.ApproveRollout(t.Context(), r.ID); err == nil {
			t.Errorf("%s approved", who)
		}
	}
	if out, code := w.command("rollout", "approve", "1"); code != 3 || !strings.Contains(out, "another person") {
		t.Errorf("it ended with %d: %s", code, out)
	}
	for range 2 { // The second approval changes nothing.
		if _, err := nora.ApproveRollout(t.Context(), r.ID); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := w.command("audit", "list", "--what", "rollout.approve")
	if strings.Count(out, "rollout.approve") != 1 || !strings.Contains(out, "approved by nora, so that wave 1") {
		t.Errorf("the audit has:\n%s", out)
	}
	w.comesTo(fleet.RolloutSucceeded)
}

// person creates an administrator and returns a client with a session of the administrator.
func (w *world) person(name string) *client.Client {
	w.t.Helper()
	role, password := string(fleet.RoleAdmin), "correct horse battery"
	if _, err := w.Client.CreateUser(w.t.Context(), api.CreateUser{Name: &name, Role: &role,
		Password: &password}); err != nil {
		w.t.Fatal(err)
	}
	session, _, err := w.Client.Login(w.t.Context(), name, password, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return w.with(session.Token)
}

func (w *world) with(secret string) *client.Client {
	w.t.Helper()
	c, err := client.New(w.URL, secret)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// A halted or running rollout has the waves that are left made anew.
func TestTheWavesOfARolloutAreSet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 14, server.Options{Soak: longSoak})
	w.template("options", `{"maxFolderConcurrency": 3}`)
	r := w.reaches(1)
	w.steer(func(id int64) (api.RolloutDetail, error) { return w.Client.PauseRollout(t.Context(), id) }, r.ID)
	r = w.rollout(r.ID)
	admitted, left := r.Waves[:r.Wave], 14
	for _, devices := range admitted {
		left -= devices
	}
	w.says("Rollout 1 is", "rollout", "waves", fmt.Sprint(r.ID), "1,50%,rest")
	want := slices.Concat(admitted, []int{1, 7, left - 8})
	if r = w.rollout(r.ID); !slices.Equal(r.Waves, want) {
		t.Errorf("got waves %v, want %v", r.Waves, want)
	}
	w.steer(func(id int64) (api.RolloutDetail, error) {
		return w.Client.PutRolloutWaves(t.Context(), id, []string{"rest"})
	}, r.ID)
	w.steer(func(id int64) (api.RolloutDetail, error) { return w.Client.ResumeRollout(t.Context(), id) }, r.ID)
	want = slices.Concat(admitted, []int{left})
	if r = w.comesTo(fleet.RolloutSucceeded); !slices.Equal(r.Waves, want) {
		t.Errorf("got waves %v, want %v", r.Waves, want)
	}
}

// While Muster only observes nobody is admitted; a resume lets the rollout begin.
func TestAnObservingMusterAdmitsNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 14, server.Options{})
	if err := w.Client.PutMode(t.Context(), string(fleet.ModeObserve)); err != nil {
		t.Fatal(err)
	}
	w.template("options", `{"maxFolderConcurrency": 3}`)
	w.comesTo(fleet.RolloutWaiting)
	if err := w.Client.PutMode(t.Context(), string(fleet.ModeOn)); err != nil {
		t.Fatal(err)
	}
	w.comesTo(fleet.RolloutSucceeded)
	everyOne(t, w.farm.Daemons(), "configured",
		func(d *stsim.Daemon) bool { return option(d, "maxFolderConcurrency") == "3" })
}
