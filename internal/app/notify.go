package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
	"muster/internal/mirror"
	"muster/internal/notify"
)

// NotifyOptions say who is told of problems.
type NotifyOptions struct {
	URLs   []string      // of webhooks
	Secret fleet.Secret  // that signs what they get
	After  time.Duration // how long a problem stays before anybody is told; 0: notify.DefaultAfter

	MailTo       []string // addresses
	MailFrom     string
	SMTP         string // HOST:PORT
	SMTPUser     string
	SMTPPassword fleet.Secret
	SMTPTLS      notify.MailTLS
}

func (a *App) newNotifier() (*notify.Notifier, error) {
	senders, err := a.o.Notify.senders()
	if err != nil {
		return nil, err
	}
	after := cmp.Or(a.o.Notify.After, notify.DefaultAfter)
	return notify.New(notify.Options{
		Source: troubles{
			registry: func(ctx context.Context) (*fleet.Registry, error) { return a.store.Registry(ctx) },
			snapshot: func(id fleet.DeviceID) *mirror.Snapshot { return a.mirror.Snapshot(id) },
			state: func(ctx context.Context, id fleet.DeviceID) (fleet.State, error) {
				return a.states().State(ctx, id)
			},
		},
		Store: a.store, Senders: senders, After: after, Every: min(mostBetweenLooks, max(after/4, leastBetweenLooks)), Log: a.log,
	}), nil
}

// How often the fleet is looked at for problems: often enough for a short NotifyOptions.After.
const (
	mostBetweenLooks  = 15 * time.Second
	leastBetweenLooks = 100 * time.Millisecond
)

func (o NotifyOptions) senders() ([]notify.Sender, error) {
	var all []notify.Sender
	for _, url := range o.URLs {
		webhook, err := notify.NewWebhook(url, o.Secret)
		if err != nil {
			return nil, err
		}
		all = append(all, webhook)
	}
	for _, to := range o.MailTo {
		mail, err := notify.NewMail(notify.MailOptions{
			To: to, From: o.MailFrom, Server: o.SMTP, User: o.SMTPUser, Password: o.SMTPPassword, TLS: o.SMTPTLS,
		})
		if err != nil {
			return nil, err
		}
		all = append(all, mail)
	}
	names := map[string]bool{}
	for _, sender := range all {
		if names[sender.Name()] {
			return nil, &fleet.Error{Code: fleet.CodeInvalid, During: "read the receivers of notifications",
				Message: "the receiver " + sender.Name() + " is there twice", Hint: "Give each --notify-url and --notify-mail-to once."}
		}
		names[sender.Name()] = true
	}
	return all, nil
}

// troubles says what is wrong in the fleet, and of what nobody can tell.
type troubles struct {
	registry func(context.Context) (*fleet.Registry, error)
	snapshot func(fleet.DeviceID) *mirror.Snapshot
	state    func(context.Context, fleet.DeviceID) (fleet.State, error)
}

// Report looks at every device.
func (t troubles) Report(ctx context.Context) (notify.Report, error) {
	registry, err := t.registry(ctx)
	if err != nil {
		return notify.Report{}, err
	}
	report := notify.Report{}
	doubts := map[fleet.DeviceID]unclear{}
	for id, device := range registry.Devices {
		s := t.snapshot(id)
		if s == nil {
			doubts[id] = everything
			continue
		}
		state, err := t.state(ctx, id)
		if err != nil {
			doubts[id] = everything
			continue
		}
		found, not := trouble(s, state)
		for _, c := range found {
			c.Device, c.Label = id, device.Label
			report.Conditions = append(report.Conditions, c)
		}
		if not.anything() {
			doubts[id] = not
		}
	}
	report.Unknown = func(key fleet.ProblemKey) bool { return doubts[key.Device].has(key) }
	return report, nil
}

// unclear is what cannot be told about a device now.
type unclear struct {
	connection, configuration, allFolders bool
	folders                               []string
}

var everything = unclear{connection: true, configuration: true, allFolders: true}

func (u unclear) anything() bool {
	return u.connection || u.configuration || u.allFolders || len(u.folders) > 0
}

func (u unclear) has(key fleet.ProblemKey) bool {
	switch key.Kind {
	case fleet.ProblemUnreachable:
		return u.connection
	case fleet.ProblemOutOfSync:
		return u.allFolders || slices.Contains(u.folders, key.Folder)
	}
	return u.configuration
}

// trouble is what is wrong with one device, and what cannot be told. While nobody has tried to reach it since the start,
// or since it was put, and while watching is paused, that is everything.
func trouble(s *mirror.Snapshot, state fleet.State) (found []fleet.Condition, not unclear) {
	online := s.Connection == fleet.Online
	switch {
	case !online && s.NextTry.IsZero():
		return nil, everything
	case online:
		found, not.folders = folderTrouble(s)
	default:
		not.allFolders = true
		found = append(found, fleet.Condition{ProblemKey: fleet.ProblemKey{Kind: fleet.ProblemUnreachable}, Reason: s.Reason, Next: s.Next, Since: s.LastSeen})
	}
	if kind, is := configurationTrouble[state.Configuration]; is {
		found = append(found, fleet.Condition{ProblemKey: fleet.ProblemKey{Kind: kind}, Reason: state.Reason, Next: state.Next})
	} else if state.Configuration == fleet.ConfigUnknown || state.Configuration == fleet.ConfigApplying {
		not.configuration = true // on its way to somewhere
	}
	return found, not
}

// configurationTrouble has no Since: a device whose held change waits all the time is in other states now and then.
var configurationTrouble = map[fleet.Configuration]fleet.ProblemKind{
	fleet.ConfigHeld: fleet.ProblemHeld, fleet.ConfigFailed: fleet.ProblemFailed,
	fleet.ConfigContended: fleet.ProblemContended, fleet.ConfigUnstable: fleet.ProblemUnstable,
}

// folderTrouble is the folders that are out of sync, and those whose summary is from before the device was reached.
func folderTrouble(s *mirror.Snapshot) (outOfSync []fleet.Condition, unread []string) {
	for _, f := range s.Folders {
		summary, known := s.Summaries[f.Folder]
		switch {
		case !tellable(f.Folder):
		case !known || summary.UpdatedAt.Before(s.Since):
			unread = append(unread, f.Folder)
		default:
			if why := lagging(summary); why != "" {
				outOfSync = append(outOfSync, fleet.Condition{
					ProblemKey: fleet.ProblemKey{Folder: f.Folder, Kind: fleet.ProblemOutOfSync}, Reason: why,
					Next: "Look at the folder on the daemon, and at the devices that share it.",
				})
			}
		}
	}
	return outOfSync, unread
}

// maxToldFolder is the longest folder ID that problems are kept of; real ones are short.
const maxToldFolder = 1 << 10

func tellable(folder string) bool {
	return folder != "" && len(folder) <= maxToldFolder && !strings.Contains(folder, "\x00")
}

// lagging says why a folder is out of sync, "" when it is not.
func lagging(s fleet.FolderSummary) string {
	switch items := s.NeedFiles + s.NeedDirectories + s.NeedSymlinks + s.NeedDeletes; {
	case s.State == "error":
		return "the folder is in error: " + cmp.Or(s.Error, "the daemon does not say why")
	case items > 0 && s.Error != "":
		return fmt.Sprintf("%d items are missing: %s", items, s.Error)
	case items > 0:
		return fmt.Sprintf("%d items with %d bytes are missing", items, s.NeedBytes)
	case s.NeedBytes > 0:
		return fmt.Sprintf("%d bytes are missing", s.NeedBytes)
	}
	return ""
}
