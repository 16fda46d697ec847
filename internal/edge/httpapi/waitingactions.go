package httpapi

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

const onePath = "/devices/{deviceID}"

// trustShown pins the certificate that a device showed last.
var trustShown = typed(forEach(act("trust", http.MethodPost, onePath+"/trust",
	map[string]string{"fingerprint": "{fingerprint}"}, auth.WriteSettings)), "muster device trust {deviceID}")

var applyPlan = typed(answeredBy(forEach(act("apply", http.MethodPost, onePath+"/apply",
	map[string]string{"digest": "{digest}"}, auth.Apply)), "digest"), "muster apply {deviceID}")

var enrollmentActions = []api.WaitingAction{
	typed(forEach(act("accept", http.MethodPost, "/enrollments/{deviceID}/accept", map[string]string{},
		auth.ManageEnrollment)), "muster enrollment accept {deviceID}"),
	typed(forEach(act("dismiss", http.MethodPost, "/enrollments/{deviceID}/reject", nil, auth.ManageEnrollment)),
		"muster enrollment reject {deviceID}"),
}

// actionsFor are the requests that solve what a group waits for.
func actionsFor(g *view.WaitingGroup) []api.WaitingAction {
	switch {
	case g.Held != nil:
		return heldActions(*g.Held)
	case g.Pending != nil:
		return pendingActions(*g.Pending)
	case g.Rollout != nil && g.Rollout.Whole: // a rollout is steered for all its members
		return rolloutActions(g.Rollout.ID, g.Cause)
	case g.Stop != nil:
		return stopActions(*g.Stop)
	}
	switch g.Cause {
	case fleet.WaitContended, fleet.WaitUnstable:
		return []api.WaitingAction{applyPlan}
	case fleet.WaitPinMismatch, fleet.WaitUnconfirmed:
		// An altered device is not contacted, so that nobody knows what it shows.
		if slices.ContainsFunc(g.Devices, func(d view.WaitingDevice) bool { return d.Shown == "" }) {
			return []api.WaitingAction{answeredBy(trustShown, "fingerprint")}
		}
		return []api.WaitingAction{trustShown}
	case fleet.WaitEnrollment:
		return enrollmentActions
	}
	return []api.WaitingAction{}
}

// heldActions answer what is shown of a group. To answer for all members of a rollout is a choice of its own.
func heldActions(held fleet.HeldGroup) []api.WaitingAction {
	actions := answersTo(held, false)
	if held.Rollout != 0 {
		actions = append(actions, answersTo(held, true)...)
	}
	return actions
}

// answersTo are the actions that give each answer that a group can have.
func answersTo(held fleet.HeldGroup, wholeRollout bool) []api.WaitingAction {
	actions := []api.WaitingAction{}
	if held.Consent {
		actions = append(actions, answerTo(held, fleet.AnswerConsent, wholeRollout))
	}
	if held.Keep {
		actions = append(actions, answerTo(held, fleet.AnswerKeep, wholeRollout))
	}
	for _, choice := range wireChoices(held.Choices) {
		action := answerTo(held, fleet.AnswerValue(choice.Name), wholeRollout)
		action.Choice = &choice
		actions = append(actions, action)
	}
	return actions
}

// answerTo returns the action that gives this answer. Its body lists no changes: the client adds those that the person
// was shown.
func answerTo(held fleet.HeldGroup, answer fleet.Answer, wholeRollout bool) api.WaitingAction {
	name, value := wireAnswer(answer)
	given := name
	body := api.AnswerConsents{Digest: &held.Digest, Answer: &given, Value: value, Shown: []api.ShownChange{}}
	command := "muster consent " + held.Digest[:min(12, len(held.Digest))]
	if wholeRollout {
		name += "Rollout"
		body.WholeRollout, body.Rollout = true, held.Rollout
		command += fmt.Sprintf(" --rollout %d", held.Rollout)
	}
	needs := auth.ToConsent(held)
	switch {
	case answer == fleet.AnswerKeep:
		needs, command = auth.Apply, command+" --keep"
	case value != "":
		command += " --value " + shellQuoted(value)
	}
	action := typed(act(name, http.MethodPost, "/consents", body, needs), command)
	action.Removes, action.Shown = held.Removes && answer == fleet.AnswerConsent, true
	return action
}

func pendingActions(asks fleet.Pending) []api.WaitingAction {
	const path = "/pending/{pendingID}"
	accept := forEach(act("accept", http.MethodPost, path+"/accept", map[string]string{}, auth.WriteDevices))
	command := "muster pending accept {pendingID}"
	if asks.Folder != "" { // a person says where to keep it
		accept = answeredBy(forEach(act("accept", http.MethodPost, path+"/accept", map[string]string{"path": "{path}"},
			auth.WriteDevices)), "path")
		command += " --path {path}"
	}
	dismiss := typed(forEach(act("dismiss", http.MethodDelete, path, nil, auth.Apply)),
		"muster pending dismiss {pendingID}")
	if asks.Revoked != "" {
		return []api.WaitingAction{dismiss}
	}
	return []api.WaitingAction{typed(accept, command), dismiss}
}

func rolloutActions(id int64, cause fleet.WaitCause) []api.WaitingAction {
	steer := func(verb string, needs auth.Permission) api.WaitingAction {
		return typed(act(verb, http.MethodPost, fmt.Sprintf("/rollouts/%d/%s", id, verb), nil, needs),
			fmt.Sprintf("muster rollout %s %d", verb, id))
	}
	resume, undo := steer("resume", auth.Apply), steer("undo", auth.WriteTemplates)
	switch cause {
	case fleet.WaitRolloutApproval:
		return []api.WaitingAction{steer("approve", auth.Approve), undo}
	case fleet.WaitRolloutPaused:
		return []api.WaitingAction{resume, undo}
	}
	return []api.WaitingAction{undo, resume} // its halt has a reason that is still there
}

// stopActions have Muster write again.
func stopActions(stop view.Stop) []api.WaitingAction {
	on := map[string]string{"mode": string(fleet.ModeOn)}
	resume := func(path, command string) api.WaitingAction {
		return typed(act("on", http.MethodPut, path, on, auth.WriteSettings), command)
	}
	switch stop.Kind {
	case view.StopOfServer:
		return []api.WaitingAction{}
	case view.StopOfTag:
		tag := string(stop.Scope.Tag)
		return []api.WaitingAction{resume("/tags/"+url.PathEscape(tag)+"/settings",
			"muster resume --tag "+shellQuoted(tag))}
	case view.StopOfDevice:
		return []api.WaitingAction{forEach(resume(onePath+"/settings", "muster resume --device {deviceID}"))}
	}
	return []api.WaitingAction{resume("/configurator", "muster resume")}
}

// shellQuoted is an argument that a shell takes as it is, whatever it holds.
func shellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// act is an action with a body; nil: it has no body.
func act(name, method, path string, body any, needs auth.Permission) api.WaitingAction {
	action := api.WaitingAction{Name: name, Method: method, Path: Prefix + path, Ask: []string{},
		Role: string(needs.Needs())}
	if body != nil {
		text, _ := encode(body) // plain values: cannot fail
		action.Body = bytes.TrimSuffix(text, []byte("\n"))
	}
	return action
}

// forEach is an action that is one request for each device of a group.
func forEach(action api.WaitingAction) api.WaitingAction {
	action.Each = true
	return action
}

// typed is an action with the command that does the same.
func typed(action api.WaitingAction, command string) api.WaitingAction {
	action.Command = command
	return action
}

// answeredBy is an action with placeholders that a person has to answer.
func answeredBy(action api.WaitingAction, placeholders ...string) api.WaitingAction {
	action.Ask = placeholders
	return action
}
