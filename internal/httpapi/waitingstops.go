package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"muster/api"
	"muster/internal/auth"
	"muster/internal/fleet"
)

// stops are the modes that keep Muster from writing. Those of single devices are one group for each mode.
func (l *waitingList) stops() error {
	wire := l.wireStops(l.ctx, l.registry)
	for _, stop := range l.modeStops(l.registry) {
		shown := wire(stop)
		part := shown.Tag
		if stop.kind == stopOfDevice {
			part = shown.Mode
		}
		g, isNew := l.group(string(waitsStop), severityOf(stop, l.registry), string(stop.kind), part)
		if isNew {
			g.Subject, g.Next, g.Actions = l.subjectOf(stop)
			g.Reason = modeReason(stop.Mode)
			if shown.By != "" && stop.kind != stopOfDevice {
				g.Reason += ", set by " + shown.By
			}
		}
		var since time.Time
		if shown.Since != nil {
			since = shown.Since.Time
		}
		if stop.kind == stopOfDevice {
			l.add(g, stop.Scope.Device, since, "")
			continue
		}
		g.since = since
		g.DeviceCount = shown.Devices
		for _, row := range l.rows {
			if stop.kind == stopOfTag && slices.Contains(row.device.Tags, stop.Scope.Tag) {
				l.add(g, row.device.ID, since, "")
			}
		}
	}
	return nil
}

func modeReason(mode fleet.Mode) string {
	if mode == fleet.ModePaused {
		return "paused: it is not even watched"
	}
	return "observe: everything is planned, nothing is written"
}

// severityOf is worse for a stop of everything, and for that of a restore, than for one of a tag or a device.
func severityOf(stop scopedStop, registry *fleet.Registry) string {
	if stop.kind == stopOfFleet || registry.Restored != nil {
		return warning
	}
	return info
}

func (l *waitingList) subjectOf(stop scopedStop) (subject, next string, actions []api.WaitingAction) {
	on := map[string]string{"mode": string(fleet.ModeOn)}
	resume := func(path, command string) []api.WaitingAction {
		return []api.WaitingAction{typed(act("on", http.MethodPut, path, on, auth.WriteSettings), command)}
	}
	const goOn = "Have Muster write again when the reason is gone."
	switch stop.kind {
	case stopOfServer:
		return "the server", "Start it without --configurator to have it write.", []api.WaitingAction{}
	case stopOfTag:
		tag := string(stop.Scope.Tag)
		return "tag " + tag, goOn, resume("/tags/"+url.PathEscape(tag)+"/settings", "muster resume --tag "+shellQuoted(tag))
	case stopOfDevice:
		actions = resume(onePath+"/settings", "muster resume --device {deviceID}")
		actions[0].Each = true
		return "single devices", goOn, actions
	}
	return "the fleet", goOn, resume("/configurator", "muster resume")
}

// shellQuoted is an argument that a shell takes as it is, whatever it holds.
func shellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// parts are the parts of the service that do not work as they should, and the receivers that are not told.
func (l *waitingList) parts() error {
	for _, i := range l.impairments() {
		severity := warning
		if i.Blocking {
			severity = critical
		}
		g, _ := l.group(string(waitsImpairment), severity, string(i.Part))
		shown := wireImpairment(i, l.whole)
		g.Subject, g.Reason, g.Next = shown.Part, shown.Reason, shown.Next
	}
	if l.Notifications == nil || !l.whole {
		return nil
	}
	for _, receiver := range l.Notifications.Receivers() {
		if receiver.Trouble == "" {
			continue
		}
		g, _ := l.group(string(waitsReceiver), warning, receiver.Name)
		g.Subject, g.since = receiver.Name, receiver.Since
		g.Reason = fmt.Sprintf("%d messages wait: %s", receiver.Waiting, receiver.Trouble)
		g.Next = "Mend the receiver, or start the server without it. Messages are sent again by themselves."
	}
	return nil
}
