package notify

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"muster/internal/fleet"
)

// Service sends messages to a chat or an alerting service in the form that it understands.
type Service struct {
	webhook *Webhook // posts to the service; its own form is not used
	form    form
	url     string
	secret  fleet.Secret
}

// form is how a service understands messages.
type form struct {
	// address returns where to post to, from the URL that a person gave; nil: to that URL.
	address func(url string) string
	// bodies returns what is posted for a message, in order.
	bodies func(s *Service, m Message) []any
	bearer bool // The secret is sent as a token in a header.
	// refused returns why an answer from 200 to 299 means that the message was not accepted; "": it was. nil: it always
	// was.
	refused func(said string) string
}

var forms = map[fleet.ChannelType]form{
	fleet.ChannelSlack:   {bodies: slackBodies, refused: slackRefused},
	fleet.ChannelTeams:   {bodies: teamsBodies, refused: teamsRefused},
	fleet.ChannelDiscord: {bodies: discordBodies},
	fleet.ChannelNtfy: {
		address: func(url string) string { base, _ := ntfyTopic(url); return base },
		bodies:  ntfyBodies, bearer: true},
	fleet.ChannelPagerDuty: {bodies: pagerDutyBodies},
	fleet.ChannelAlertmanager: {
		address: func(url string) string {
			if strings.HasSuffix(url, alertsPath) {
				return url
			}
			return strings.TrimSuffix(url, "/") + alertsPath
		},
		bodies: alertmanagerBodies, bearer: true},
}

// Name returns the name of the webhook.
func (s *Service) Name() string { return s.webhook.Name() }

// Send posts the message.
func (s *Service) Send(ctx context.Context, m Message) error {
	for _, body := range s.form.bodies(s, m) {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		said, err := s.webhook.post(ctx, text, func(header http.Header) {
			if s.form.bearer && !s.secret.IsZero() {
				header.Set("Authorization", "Bearer "+s.secret.Reveal())
			}
		})
		if err != nil {
			return err
		}
		if s.form.refused == nil {
			continue
		}
		if why := s.form.refused(said); why != "" {
			return &RejectedError{Reason: why, Answer: said}
		}
	}
	return nil
}

// severityOf returns how bad the problems of a message are.
func severityOf(m Message) fleet.Severity {
	if m.Group != nil {
		return m.Group.Severity
	}
	if m.Type == fleet.NoticeTrial {
		return fleet.Info
	}
	return fleet.WaitTexts[m.Kind].Severity
}

// detailLines are what a message says below its headline, a line for each.
func detailLines(m Message, most int) (lines []string) {
	switch {
	case m.Type == fleet.NoticeTrial:
		return []string{oneLine(m.Reason)}
	case m.Type == fleet.NoticeResolved:
		return nil
	case m.Group != nil && m.Group.Count > 1:
		lines = problemLines(m.Group, most)
	case m.Reason != "":
		lines = append(lines, oneLine(m.Reason))
	}
	if m.Next != "" {
		lines = append(lines, "Next: "+oneLine(m.Next))
	}
	return lines
}

// shownProblems is how many problems a chat names.
const shownProblems = 15

// cut returns the beginning of a text, with at most so many bytes, or characters of UTF-16, which are never more.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most - len("…")
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// Slack: https://api.slack.com/messaging/webhooks and https://api.slack.com/reference/surfaces/formatting. A section
// has at most 3,000 characters. A label must not become a mention or a link, so <, > and & are escaped.
const slackText = 3000

func slackBodies(_ *Service, m Message) []any {
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace
	text := "*" + escape(strings.ReplaceAll(headline(m), "*", "")) + "*"
	for _, line := range detailLines(m, shownProblems) {
		text += "\n" + escape(line)
	}
	// An escape that was cut in the middle would show as text, which is harmless.
	section := map[string]any{"type": "section", "text": map[string]any{"type": "mrkdwn", "text": cut(text, slackText),
		"verbatim": true}}
	blocks := []any{section}
	if m.Link != "" {
		blocks = append(blocks, map[string]any{"type": "section", "text": map[string]any{"type": "mrkdwn",
			"text": "<" + m.Link + "|Open in Muster>"}})
	}
	return []any{map[string]any{"text": cut(escape(headline(m)), slackText), "blocks": blocks}}
}

// slackRefused: services that understand Slack's form answer 200 with an error inside.
func slackRefused(said string) string {
	var answer struct {
		OK      *bool `json:"ok"`
		Success *bool `json:"success"`
	}
	if json.Unmarshal([]byte(said), &answer) != nil {
		return ""
	}
	if answer.OK != nil && !*answer.OK || answer.Success != nil && !*answer.Success {
		return "it answers 200 with an error"
	}
	return ""
}

// Teams: https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using. Workflows
// take adaptive cards only, in a message of at most 28 KB. Text blocks understand a part of Markdown.
func teamsBodies(_ *Service, m Message) []any {
	block := func(text string) map[string]any {
		return map[string]any{"type": "TextBlock", "wrap": true, "text": cut(markdownText(text), 1000)}
	}
	title := block(headline(m))
	title["weight"], title["size"], title["color"] = "Bolder", "Medium", teamsColours[severityOf(m)]
	if m.Type == fleet.NoticeResolved {
		title["color"] = "Good"
	}
	body := []any{title}
	for _, line := range detailLines(m, shownProblems) {
		body = append(body, block(line))
	}
	card := map[string]any{"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard",
		"version": "1.4", "body": body}
	if m.Link != "" {
		card["actions"] = []any{map[string]any{"type": "Action.OpenUrl", "title": "Open in Muster", "url": m.Link}}
	}
	return []any{map[string]any{"type": "message", "attachments": []any{map[string]any{
		"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil, "content": card}}}}
}

var teamsColours = map[fleet.Severity]string{fleet.Critical: "Attention", fleet.Warning: "Warning",
	fleet.Info: "Accent"}

// teamsRefused: Teams answers 200 and says in the text that it did not deliver the message.
func teamsRefused(said string) string {
	if strings.Contains(strings.ToLower(said), "failed with error") {
		return "it answers 200 with an error"
	}
	return ""
}

// markdownText returns a text that looks the same where Markdown is understood.
func markdownText(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune("\\`*_~|>[]()#<@", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Discord: https://discord.com/developers/docs/resources/webhook#execute-webhook. An embed has a title of at most 256
// characters and a description of at most 4,096. Without allowed mentions nobody is called by a label.
func discordBodies(_ *Service, m Message) []any {
	embed := map[string]any{"title": cut(markdownText(headline(m)), 256),
		"color": discordColours[severityOf(m)], "timestamp": m.At.UTC().Format(time.RFC3339)}
	if m.Type == fleet.NoticeResolved {
		embed["color"] = discordGreen
	}
	if lines := detailLines(m, shownProblems); len(lines) > 0 {
		embed["description"] = cut(markdownText(strings.Join(lines, "\n")), 4096)
	}
	if m.Link != "" {
		embed["url"] = m.Link
	}
	return []any{map[string]any{"username": "Muster", "embeds": []any{embed},
		"allowed_mentions": map[string]any{"parse": []string{}}}}
}

const discordGreen = 0x2e7d32

var discordColours = map[fleet.Severity]int{fleet.Critical: 0xc62828, fleet.Warning: 0xef6c00, fleet.Info: 0x1565c0}

// ntfy: https://docs.ntfy.sh/publish/#publish-as-json. JSON is posted to the server's address and names the topic; a
// message has at most 4,096 bytes.
func ntfyBodies(s *Service, m Message) []any {
	_, topic := ntfyTopic(s.url)
	body := map[string]any{"topic": topic, "title": cut(headline(m), 250),
		"message":  cut(strings.Join(append(detailLines(m, shownProblems), "Muster"), "\n"), 4000),
		"priority": ntfyPriorities[severityOf(m)], "tags": []string{ntfyTags[severityOf(m)]}}
	if m.Type == fleet.NoticeResolved {
		body["priority"], body["tags"] = 2, []string{"white_check_mark"}
	}
	if m.Link != "" {
		body["click"] = m.Link
	}
	return []any{body}
}

var (
	ntfyPriorities = map[fleet.Severity]int{fleet.Critical: 5, fleet.Warning: 4, fleet.Info: 3}
	ntfyTags       = map[fleet.Severity]string{fleet.Critical: "rotating_light", fleet.Warning: "warning",
		fleet.Info: "information_source"}
)

// ntfyTopic splits the URL of a topic into the server's address and the topic.
func ntfyTopic(address string) (base, topic string) {
	u, err := url.Parse(address)
	if err != nil {
		return address, ""
	}
	path := strings.TrimSuffix(u.Path, "/")
	at := strings.LastIndexByte(path, '/')
	topic = path[at+1:]
	u.Path, u.RawPath = path[:at+1], ""
	return u.String(), topic
}

// PagerDuty: https://developer.pagerduty.com/docs/events-api-v2/trigger-events. The problem's ID keeps all messages
// about it in one incident. A trial is resolved at once.
func pagerDutyBodies(s *Service, m Message) []any {
	event := func(action string) map[string]any {
		return map[string]any{"routing_key": s.secret.Reveal(), "event_action": action, "dedup_key": m.ProblemID}
	}
	if m.Type == fleet.NoticeResolved {
		return []any{event("resolve")}
	}
	trigger := event("trigger")
	payload := map[string]any{"summary": cut(headline(m), 1024), "source": pagerDutySource(m),
		"severity": string(severityOf(m)), "timestamp": m.Since.UTC().Format(time.RFC3339),
		"custom_details": map[string]any{"details": cut(strings.Join(detailLines(m, maxToldProblems), "\n"), 50_000)}}
	if m.Kind != "" {
		payload["class"] = string(m.Kind)
	}
	if m.Group != nil && m.Group.Tag != "" {
		payload["group"] = string(m.Group.Tag)
	}
	trigger["payload"], trigger["client"] = payload, "Muster"
	if m.Link != "" {
		trigger["client_url"] = m.Link
		trigger["links"] = []any{map[string]any{"href": m.Link, "text": "Open in Muster"}}
	}
	if m.Type == fleet.NoticeTrial {
		return []any{trigger, event("resolve")}
	}
	return []any{trigger}
}

func pagerDutySource(m Message) string {
	if m.DeviceID != "" {
		return cut(oneLine(name(m)), 255)
	}
	return "muster"
}

// Alertmanager: https://prometheus.io/docs/alerting/latest/alerts_api. Labels are the identity of an alert, so they are
// the same when it ends. Muster does not send an alert again and again, so it names an end that is far away.
const (
	alertsPath = "/api/v2/alerts"
	alertLasts = fleet.MostRepeat
)

func alertmanagerBodies(_ *Service, m Message) []any {
	labels := map[string]string{"alertname": "MusterTrial", "severity": string(severityOf(m)), "problem": m.ProblemID}
	if m.Kind != "" {
		labels["alertname"] = "Muster" + strings.ToUpper(string(m.Kind[:1])) + string(m.Kind[1:])
	}
	if m.Group != nil && m.Group.Tag != "" {
		labels["tag"] = oneLine(string(m.Group.Tag))
	}
	alert := map[string]any{"labels": labels, "startsAt": m.Since.UTC().Format(time.RFC3339),
		"annotations": map[string]string{"summary": headline(m),
			"description": strings.Join(append(detailLines(m, maxToldProblems), "Muster"), "\n")}}
	switch m.Type {
	case fleet.NoticeProblem:
		alert["endsAt"] = m.At.Add(alertLasts).UTC().Format(time.RFC3339)
	case fleet.NoticeTrial:
		alert["endsAt"] = m.At.Add(time.Minute).UTC().Format(time.RFC3339)
	case fleet.NoticeResolved:
		alert["endsAt"] = m.At.UTC().Format(time.RFC3339)
	}
	if m.Link != "" {
		alert["generatorURL"] = m.Link
	}
	return []any{[]any{alert}}
}
