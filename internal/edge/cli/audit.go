package cli

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type auditCommand struct {
	List       auditListCommand    `cmd:"" default:"withargs" help:"Show who did what, the newest first."`
	Changes    auditChangesCommand `cmd:"" help:"Show the newest changes by people and tokens; equal ones of one moment are one line."`
	Export     auditExportCommand  `cmd:"" help:"Print the entries as lines of JSON, the oldest first."`
	Head       auditHeadCommand    `cmd:"" help:"Sign how the audit ends now. Keep the head elsewhere: verify --head proves with it that nothing before was changed."`
	AcceptLoss acceptLossCommand   `cmd:"" help:"Accept that entries are lost, because the database was put back to an earlier state, or that rows were removed or changed in it. Until then nothing is written to daemons."`
	Verify     auditVerifyCommand  `cmd:"" help:"Find entries that were changed, removed or swapped in the database, and tokens and sealed values that Muster did not write."`
}

// auditSearch are the filters of list and export.
type auditSearch struct {
	Who     string `env:"-" help:"Only what this token or person did." placeholder:"NAME"`
	What    string `env:"-" help:"Only entries about this act, such as device.delete. With a dot at the end it is a prefix: device." placeholder:"WHAT"`
	Device  string `env:"-" help:"Only what was done to this device: label, ID or first letters of the ID." placeholder:"DEVICE"`
	Subject string `env:"-" help:"Only what was done to this: a template's ID, a tag, the name of a token." placeholder:"TEXT"`
	Since   string `env:"-" help:"Only from this time on: 2026-01-31, 2026-01-31T08:00:00Z, yesterday, or how long ago, like 36h or 1w." placeholder:"TIME"`
	Until   string `env:"-" help:"Only before this time." placeholder:"TIME"`
}

func (s auditSearch) query(ctx context.Context, server *client.Client) (q client.AuditSearch, err error) {
	q = client.AuditSearch{Who: s.Who, What: s.What, Device: s.Device, Subject: s.Subject}
	if q.Since, err = timeOf("--since", s.Since); err != nil {
		return q, err
	}
	if q.Until, err = timeOf("--until", s.Until); err != nil {
		return q, err
	}
	if s.Device == "" {
		return q, nil
	}
	if id, err := fleet.ParseDeviceID(s.Device); err == nil { // the device may be deleted by now
		q.Device = string(id)
		return q, nil
	}
	device, err := deviceNamed(ctx, server, s.Device)
	q.Device = device.DeviceID
	return q, err
}

var errEnough = errors.New("enough")

type auditListCommand struct {
	connection
	output
	auditSearch
	sorting
	paging
	Limit int `env:"-" help:"Show at most N entries." default:"50" placeholder:"N"`
}

// Run prints one entry on each line.
func (c *auditListCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	search, err := c.query(ctx, server)
	if err != nil {
		return err
	}
	search.Limit = min(max(c.Limit, 1), 1000) // the limits of a page
	var all []api.AuditEntry
	left := c.Limit
	err = server.EachAudit(ctx, search, func(e api.AuditEntry) error {
		if left--; left < 0 {
			return errEnough
		}
		all = append(all, e)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return printSorted(env, c.output, c.sorting, columns[api.AuditEntry]{
		titles: []string{"ID", "AT", "WHO", "WHAT", "SUBJECT", "DETAIL"},
		name:   func(e api.AuditEntry) string { return strconv.FormatInt(e.ID, 10) },
		row: func(e api.AuditEntry) []string {
			return []string{strconv.FormatInt(e.ID, 10), e.At.String(), e.Who, e.What, e.Subject, e.Detail}
		}}, all)
}

type auditExportCommand struct {
	connection
	auditSearch
}

// Run prints one entry on each line, as the API gives it.
func (c *auditExportCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	search, err := c.query(ctx, server)
	if err != nil {
		return err
	}
	search.Oldest = true
	out := bufio.NewWriter(env.Out)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	if err := server.EachAudit(ctx, search, func(e api.AuditEntry) error { return lines.Encode(e) }); err != nil {
		return errors.Join(err, out.Flush())
	}
	return out.Flush()
}

type auditHeadCommand struct {
	connection
	output
}

// Run prints the head alone on the last line.
func (c *auditHeadCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	head, err := server.SignAudit(ctx)
	if err != nil {
		return err
	}
	if c.forPeople() {
		fmt.Fprintf(env.Err, "Signed by the key %s:\n", head.Key)
	}
	return c.done(env, head.Head, head, head.Head)
}

type acceptLossCommand struct {
	connection
	output
	messaging
	Code  string `env:"-" help:"Content of the file accept-code in the server's home; this command reads it by itself where it may." placeholder:"CODE"`
	Entry int64  `arg:"" help:"The last entry that is lost, as muster status names it; where only rows are in doubt, the last one that muster audit list shows." placeholder:"ENTRY"`
}

// acceptCode is what a server writes as its code. The home's user may have made the file a link to a file of root,
// which must not be sent.
var acceptCode = regexp.MustCompile(`^[A-Z2-7]{26,60}$`)

// acceptCodeIn reads the code in the server's home, "" where this user cannot. Then the server says what to do.
func acceptCodeIn(home string) string {
	text, err := os.ReadFile(filepath.Join(home, fleet.AcceptFile))
	if code := strings.TrimSpace(string(text)); err == nil && acceptCode.MatchString(code) {
		return code
	}
	return ""
}

// Run prints what was accepted.
func (c *acceptLossCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	code := c.Code
	if code == "" {
		at, err := c.resolved()
		if err != nil {
			return err
		}
		if c.MusterHome != "" || at.onThisMachine() {
			code = acceptCodeIn(at.home)
		}
	}
	done, err := server.AcceptLoss(ctx, api.AcceptLoss{Entry: c.Entry, Code: code})
	if err != nil {
		return err
	}
	lines := make([]string, len(done.Accepted))
	for i, accepted := range done.Accepted {
		lines[i] = printable(accepted)
	}
	text := "Accepted: " + strings.Join(lines, ";\n") + "."
	return c.done(env, strconv.FormatInt(c.Entry, 10), done, text)
}

type auditVerifyCommand struct {
	connection
	output
	Head []string `env:"-" sep:"none" help:"Head that was stored outside of the server, which logs one for every hour with an entry. Repeatable." placeholder:"HEAD"`
	File string   `short:"f" env:"-" help:"Verify the lines of a whole export instead of the server's database; - for standard input." placeholder:"FILE"`
	Key  string   `env:"-" help:"With --file: the key that signed the heads, as muster audit head prints it." placeholder:"HEX"`
}

// Run prints what was found, and fails if anything was found.
func (c *auditVerifyCommand) Run(ctx context.Context, env *environment) error {
	if c.File != "" {
		report, err := c.verifyFile(env)
		if err != nil {
			return err
		}
		return printReport(env, c.output, report)
	}
	if c.Key != "" {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "--key goes with --file", Hint: "Leave it out."}
	}
	server, err := c.client()
	if err != nil {
		return err
	}
	found, err := server.VerifyAudit(ctx, c.Head)
	if err != nil {
		return err
	}
	report := fleet.AuditReport{Entries: found.Entries, FirstID: found.FirstID, LastID: found.LastID,
		LastHash: found.LastHash, Rows: found.Rows}
	for _, fault := range found.Faults {
		report.Faults = append(report.Faults, fleet.AuditFault{ID: fault.ID, Detail: fault.Detail})
	}
	return printReport(env, c.output, report)
}

// verifyFile follows the chain of an export. Only a head shows whether its end is missing or all of it was rewritten.
func (c *auditVerifyCommand) verifyFile(env *environment) (report fleet.AuditReport, err error) {
	heads, err := c.heads()
	if err != nil {
		return report, err
	}
	in := env.In
	if c.File != "-" {
		file, err := os.Open(c.File)
		if err != nil {
			return report, err
		}
		defer func() { _ = file.Close() }() // it was read only
		in = file
	}
	var first, last fleet.AuditEntry
	var check *fleet.AuditCheck
	for lines := json.NewDecoder(bufio.NewReader(in)); ; {
		var line api.AuditEntry
		if err := lines.Decode(&line); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return report, fmt.Errorf("read line %d of the export: %w", report.Entries+1, err)
		}
		last = fleet.AuditEntry{ID: line.ID, At: line.At.Time, Who: line.Who, What: line.What, Subject: line.Subject,
			Detail: line.Detail, Previous: line.Previous, Hash: line.Hash}
		if check == nil {
			first = last
			check = fleet.NewAuditCheck(fleet.AuditEnds{FirstID: first.ID, Before: first.Previous}, heads)
		}
		check.Add(last)
		report.Entries++
	}
	if check == nil {
		return report, nil
	}
	report.FirstID, report.LastID, report.LastHash = first.ID, last.ID, last.Hash
	report.Faults = check.EndAt(last.ID, last.Hash)
	return report, nil
}

func (c *auditVerifyCommand) heads() (heads []fleet.AuditHead, err error) {
	key, err := hex.DecodeString(c.Key)
	if err != nil || c.Key != "" && len(key) != ed25519.PublicKeySize {
		return nil, &fleet.Error{Code: fleet.CodeInvalid, Message: "--key is no key of an audit: 64 hexadecimal digits",
			Hint: "`muster audit head` prints it."}
	}
	for _, text := range c.Head {
		head, err := fleet.ParseAuditHead(text)
		if err != nil {
			return nil, err
		}
		if c.Key != "" && !head.SignedBy(key) {
			return nil, &fleet.Error{Code: fleet.CodeInvalid,
				Message: fmt.Sprintf("the head of entry %d was not signed by this key", head.ID),
				Hint:    "Look where head and key were copied from."}
		}
		heads = append(heads, head)
	}
	return heads, nil
}

// verified is what programs read of a verification.
type verified struct {
	FirstID int64    `json:"firstID"`
	LastID  int64    `json:"lastID"`
	Faults  []string `json:"faults"`
}

func printReport(env *environment, how output, report fleet.AuditReport) error {
	found := slices.Clone(report.Rows)
	for _, fault := range slices.Backward(report.Faults) {
		found = slices.Insert(found, 0, fault.Detail)
	}
	if !how.forPeople() {
		faults := append([]string{}, found...) // an empty list, not null
		if err := how.print(env, verified{report.FirstID, report.LastID, faults}, found...); err != nil {
			return err
		}
		if len(found) == 0 {
			return nil
		}
		found = nil
	} else if len(found) == 0 {
		fmt.Fprintf(env.Out, "Entries %d to %d follow each other; nothing was changed.\n", report.FirstID, report.LastID)
		return nil
	}
	for _, what := range found {
		fmt.Fprintln(env.Out, printable(what))
	}
	return &fleet.Error{Code: fleet.CodeConflict, Message: "the database is not as Muster wrote it",
		Hint: "Keep a copy of the database, find out who can write to it, and compare with a backup: docs/audit.md."}
}
