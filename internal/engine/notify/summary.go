package notify

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
)

// manyWords are the kinds of problems as they follow the number of devices, folders or other things.
var manyWords = map[Kind]string{
	fleet.WaitUnreachable:      "cannot be reached",
	fleet.WaitStale:            "were not seen for so long that they count as stale",
	fleet.WaitFolderStopped:    "are stopped",
	fleet.WaitFailedItems:      "have items that could not be synced",
	fleet.WaitStalled:          "do not go on",
	fleet.WaitAlone:            "are alone: no device that shares them is connected",
	fleet.WaitOutOfSync:        "differ from the other devices",
	fleet.WaitLocalChanges:     "were changed although they only receive",
	fleet.WaitDisagree:         "have other files than on other devices",
	fleet.WaitConflicts:        "have files in conflict",
	fleet.WaitDiskNearlyFull:   "are on a disk that is nearly full",
	fleet.WaitAtRisk:           "have data that is not proven to be on enough other devices",
	fleet.WaitDriveMissing:     "are not there: their drives are missing",
	fleet.WaitPinMismatch:      "show another certificate than the pinned one",
	fleet.WaitIdentityMismatch: "answer as other devices",
	fleet.WaitKeyRefused:       "refuse their API keys",
	fleet.WaitUnconfirmed:      "show certificates that nobody confirmed",
	fleet.WaitCloned:           "have their identity on two machines",
	fleet.WaitFailed:           "could not be configured",
	fleet.WaitHeld:             "wait for consent",
	fleet.WaitContended:        "are set back again and again by somebody else",
	fleet.WaitBroughtBack:      "had a revoked device brought back",
	fleet.WaitUnstable:         "get another configuration each time",
	fleet.WaitEnrollment:       "have devices that ask to be accepted",
	fleet.WaitRolloutHalted:    "are halted",
	fleet.WaitRolloutApproval:  "wait for approval",
	fleet.WaitImpairment:       "do not work as they should",
}

// notice makes the message about a group.
func (g *group) notice(public string, now time.Time) Message {
	first := g.problems[0]
	m := messageOf(first.Condition, public, now)
	m.Type = fleet.NoticeProblem
	m.Group = &fleet.NoticeGroup{Severity: fleet.WaitTexts[g.key.Kind].Severity, Channel: g.key.Channel, Tag: g.key.Tag,
		Count: len(g.problems)}
	for _, p := range g.problems[:min(len(g.problems), maxToldProblems)] {
		m.Group.Problems = append(m.Group.Problems, fleet.ToldProblem{DeviceID: p.Device, Label: p.Label, Folder: p.Folder,
			Subject: p.Subject, Reason: p.Reason, Since: p.Since.UTC()})
	}
	for _, p := range g.problems {
		if p.Since.Before(m.Since) {
			m.Since = p.Since.UTC()
		}
	}
	if len(g.problems) == 1 {
		m.Group.Summary = sentence(m) + since(m.Since, now)
		return m
	}
	text := fleet.WaitTexts[g.key.Kind]
	m.DeviceID, m.Label, m.Folder, m.Subject, m.Next = "", "", "", "", cmp.Or(text.Next, m.Next)
	m.Reason, m.Link = cmp.Or(text.Reason, m.Reason), linkTo(public, "", "")
	m.Group.Summary = counted(g.problems, g.key) + " " + manyWords[g.key.Kind] + since(m.Since, now)
	return m
}

// counted returns "12 devices of site:berlin". A tag that all devices carry is named.
func counted(problems []Problem, key fleet.ToldGroupKey) string {
	tag := key.Tag
	if tag == "" {
		tag = commonTag(problems)
	}
	text := fmt.Sprintf("%d %s", len(problems), noun(problems[0].ProblemKey))
	if tag != "" {
		text += " of " + string(tag)
	}
	return text
}

func noun(key Key) string {
	switch {
	case key.Folder != "":
		return "folders"
	case key.Device != "":
		return "devices"
	case key.Kind == fleet.WaitRolloutHalted, key.Kind == fleet.WaitRolloutApproval:
		return "rollouts"
	case key.Kind == fleet.WaitEnrollment:
		return "addresses"
	}
	return "parts of the server"
}

// commonTag returns the first tag that the devices of all problems carry; "" if there is no such tag.
func commonTag(problems []Problem) fleet.Tag {
	for _, tag := range problems[0].Tags {
		if !slices.ContainsFunc(problems, func(p Problem) bool { return !slices.Contains(p.Tags, tag) }) {
			return tag
		}
	}
	return ""
}

// overSummary is the sentence of a group that is over.
func overSummary(was fleet.ToldGroup) string {
	one := map[bool]string{true: "problem", false: "problems"}[was.Count == 1]
	text := fmt.Sprintf("Resolved: %d %s", was.Count, one)
	if was.Tag != "" {
		text += " of " + string(was.Tag)
	}
	return text + " of the kind " + string(was.Kind) + since(was.Since, was.ToldAt)
}

// since returns " since 14:02 UTC", with the date if it is another day.
func since(at, now time.Time) string {
	at, now = at.UTC(), now.UTC()
	if at.IsZero() {
		return ""
	}
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return " since " + at.Format("15:04") + " UTC"
	}
	return " since " + at.Format("2006-01-02 15:04") + " UTC"
}

// linkTo returns the address of the page about a device or folder, or of the page of what waits. It is "" where the
// server does not know its own address.
func linkTo(public string, device fleet.DeviceID, folder string) string {
	if public == "" {
		return ""
	}
	page := "/ui/"
	switch {
	case folder != "":
		page = "/ui/folders/" + url.PathEscape(folder)
	case device != "":
		page = "/ui/devices/" + url.PathEscape(string(device))
	}
	return strings.TrimSuffix(public, "/") + page
}

// trial makes the message of somebody who tries a receiver.
func trial(now time.Time) Message {
	id := rand.Text()
	return Message{ID: id, ProblemID: id, Type: fleet.NoticeTrial, Since: now, At: now,
		Reason: "somebody tries whether this receiver is told of problems; nothing is wrong"}
}

// problemLines names up to most problems of a group, a line for each, and says how many there are besides.
func problemLines(g *fleet.NoticeGroup, most int) (lines []string) {
	for _, p := range g.Problems[:min(len(g.Problems), most)] {
		what := name(Message{DeviceID: p.DeviceID, Label: p.Label, Subject: p.Subject})
		if p.Folder != "" {
			what = "folder " + p.Folder + " on " + what
		}
		lines = append(lines, oneLine(what+": "+p.Reason))
	}
	if more := g.Count - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return lines
}
