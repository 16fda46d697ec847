package httpapi

import (
	"cmp"
	"net/http"

	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// setup is what the API of a world stands on. Where a field is nil, this server does not have it.
type setup struct {
	Options
	Audit       audited
	Mirror      played
	Logs        Logs
	Disks       Disks
	Trust       Trust
	Tester      AccessTester
	Plans       Plans
	Reasons     Reasons
	Consents    Consents
	Revisions   Revisions
	Pending     Pending
	Versions    TemplateHistory
	Checker     Checker
	Evaluator   Evaluator
	WhatIf      WhatIf
	Configured  Configurations
	Revocations Certificates
	Secrets     Secrets
	Settings    settings
	Policy      Policy
	Inventory   *view.View
	Folders     Folders
	Files       Files
	States      States
	History     History
	Summaries   Summaries
	Stops       Stops
	Tokens      Tokens
	Users       users
	Sessions    sessions
	LoginLinks  LoginLinks
	Enrollments enrolling
	SignOn      SignOn
	Health      Health
	Demo        Demo
	Certificate func() *fleet.Served
	Metrics     http.Handler
	Rollouts    Rollouts
	Runner      RolloutRunner
	Orders      OrderHandlers
	EventLog    EventLog
	Events      Events
	streams     *EventHandlers // The last ones that were made.
}

// What several nouns read of one object.
type (
	audited interface {
		Recorder
		AuditLog
	}
	played interface {
		Mirror
		FolderSummaries
	}
	settings interface {
		Settings
		Limits
	}
	users interface {
		Users
		Accounts
	}
	sessions interface {
		Sessions
		Tickets
		Renewer
	}
	enrolling interface {
		Enrollments
		EnrollKeys
		Claims
	}
)

// events are the handlers of events of the server that was made last.
func (o *setup) events() *EventHandlers { return o.streams }

// server is a new one.
func (o *setup) server() *server {
	o.streams = &EventHandlers{Rollouts: o.Rollouts, Events: o.Events, EventLog: o.EventLog, States: o.States,
		Rows: o.Inventory}
	options := o.Options
	options.Registry.Parts = cmp.Or(options.Registry.Parts, &fleet.Views{})
	if o.Audit != nil {
		options.Audit = o.Audit
	}
	options.Nouns = []Noun{
		MirrorHandlers{Mirror: o.Mirror},
		StateHandlers{States: o.States, Listed: o.Inventory}, DiskHandlers{Disks: o.Disks}, TrustHandlers{Trust: o.Trust},
		DeviceTestHandlers{Tester: o.Tester},
		o.Orders, PlanHandlers{Plans: o.Plans, States: o.States}, WhyHandlers{Reasons: o.Reasons},
		ConsentHandlers{Consents: o.Consents}, RevocationHandlers{Mirror: o.Configured, Certificates: o.Revocations},
		PlanningHandlers{Checker: o.Checker, WhatIf: o.WhatIf, Rows: o.Inventory, Secrets: o.Secrets},
		RolloutHandlers{Rollouts: o.Rollouts, Runner: o.Runner},
		UndoHandlers{Planning: PlanningHandlers{Checker: o.Checker, WhatIf: o.WhatIf},
			Rollouts: RolloutHandlers{Rollouts: o.Rollouts, Runner: o.Runner}}, RevisionHandlers{Revisions: o.Revisions},
		SettingHandlers{Settings: o.Settings, Limits: o.Settings, Stops: o.Stops},
		PolicyHandlers{Policy: o.Policy},
		TemplateHandlers{Checker: o.Checker, Evaluator: o.Evaluator, Versions: o.Versions},
		FolderHandlers{Folders: o.Folders, Summaries: o.Mirror}, StandingHandlers{Standings: o.Inventory},
		FileHandlers{Files: o.Files, Logs: o.Logs, Shares: o.Inventory}, ShareHandlers{Shares: o.Inventory}, o.streams,
		TokenHandlers{Tokens: o.Tokens}, UserHandlers{Users: o.Users, Accounts: o.Users},
		SessionHandlers{Sessions: o.Sessions, Tickets: o.Sessions}, LoginLinkHandlers{LoginLinks: o.LoginLinks},
		SignOnHandlers{HasPasswords: o.Sessions != nil, SignOn: o.SignOn}, SecretHandlers{Secrets: o.Secrets},
		DemoHandlers{Demo: o.Demo}, AuditHandlers{Audit: o.Audit, Rollouts: o.Rollouts},
		EnrollmentHandlers{Enrollments: o.Enrollments},
		EnrollKeyHandlers{Keys: o.Enrollments}, ClaimHandlers{Claims: o.Enrollments}, PendingHandlers{Pending: o.Pending},
		InventoryHandlers{Inventory: o.Inventory}, WaitingHandlers{Summaries: o.Summaries},
		OverviewHandlers{Summaries: o.Summaries, Stops: o.Stops, Certificate: o.Certificate},
		HistoryHandlers{History: o.History, Folders: o.Folders}, StopHandlers{Stops: o.Stops},
		MetricHandlers{Metrics: o.Metrics}, HealthHandlers{Health: o.Health},
	}
	return newServer(options)
}
