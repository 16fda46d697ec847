package httpapi

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/client"
)

// callOf is how the client does what a route is for, by the route's operationId.
var callOf = map[string]func(c *client.Client, ctx context.Context){
	"listDevices":      func(c *client.Client, ctx context.Context) { _, _ = c.Devices(ctx, client.List{}) },
	"getDevice":        func(c *client.Client, ctx context.Context) { _, _ = c.Device(ctx, "x") },
	"putDevice":        func(c *client.Client, ctx context.Context) { _, _, _ = c.PutDevice(ctx, "x", api.PutDevice{}) },
	"testDevice":       func(c *client.Client, ctx context.Context) { _, _ = c.TestDevice(ctx, "x", api.TestDevice{}) },
	"deleteDevice":     func(c *client.Client, ctx context.Context) { _ = c.DeleteDevice(ctx, "x") },
	"getDeviceTags":    func(c *client.Client, ctx context.Context) { _, _ = c.DeviceTags(ctx, "x") },
	"tagDevice":        func(c *client.Client, ctx context.Context) { _, _ = c.TagDevice(ctx, "x", "t") },
	"untagDevice":      func(c *client.Client, ctx context.Context) { _, _ = c.UntagDevice(ctx, "x", "t") },
	"getDeviceVars":    func(c *client.Client, ctx context.Context) { _, _ = c.DeviceVars(ctx, "x") },
	"putDeviceVars":    func(c *client.Client, ctx context.Context) { _, _ = c.PutDeviceVars(ctx, "x", nil) },
	"getEffectiveVars": func(c *client.Client, ctx context.Context) { _, _ = c.EffectiveVars(ctx, "x") },
	"getTagVars":       func(c *client.Client, ctx context.Context) { _, _ = c.TagVars(ctx, "t") },
	"putTagVars":       func(c *client.Client, ctx context.Context) { _, _ = c.PutTagVars(ctx, "t", nil) },
	"getDeviceStatus":  func(c *client.Client, ctx context.Context) { _, _ = c.DeviceStatus(ctx, "x") },
	"getDeviceVersion": func(c *client.Client, ctx context.Context) { _, _ = c.DeviceVersion(ctx, "x") },
	"getDeviceConfig":  func(c *client.Client, ctx context.Context) { _, _ = c.DeviceConfig(ctx, "x") },
	"getDeviceState":   func(c *client.Client, ctx context.Context) { _, _ = c.DeviceState(ctx, "x") },
	"getDeviceTrust":   func(c *client.Client, ctx context.Context) { _, _ = c.DeviceTrust(ctx, "x") },
	"trustDevice":      func(c *client.Client, ctx context.Context) { _, _ = c.TrustDevice(ctx, "x", "f") },
	"listSettings":     func(c *client.Client, ctx context.Context) { _, _ = c.Settings(ctx) },
	"getSetting":       func(c *client.Client, ctx context.Context) { _, _ = c.Setting(ctx, "x") },
	"putSetting":       func(c *client.Client, ctx context.Context) { _, _ = c.PutSetting(ctx, "x", "v") },
	"testSetting":      func(c *client.Client, ctx context.Context) { _, _ = c.TestSetting(ctx, "x", nil) },
	"resetSetting":     func(c *client.Client, ctx context.Context) { _, _ = c.ResetSetting(ctx, "x") },
	"listStates":       func(c *client.Client, ctx context.Context) { _, _ = c.States(ctx, client.List{}) },
	"getDevicePlan":    func(c *client.Client, ctx context.Context) { _, _ = c.DevicePlan(ctx, "x") },
	"listManagedKeys":  func(c *client.Client, ctx context.Context) { _, _ = c.DeviceManagedKeys(ctx, "x") },
	"getDeviceWhy":     func(c *client.Client, ctx context.Context) { _, _ = c.DeviceWhy(ctx, "x", "gui.user") },
	"listDeviceTemplates": func(c *client.Client, ctx context.Context) {
		_, _ = c.DeviceTemplates(ctx, "x")
	},
	"restartDevice": func(c *client.Client, ctx context.Context) {
		_, _ = c.OrderToDevice(ctx, "x", client.OrderSpec{Type: client.OrderRestart})
	},
	"restartTag": func(c *client.Client, ctx context.Context) {
		_, _ = c.OrderToTag(ctx, "t", client.OrderSpec{Type: client.OrderRestart})
	},
	"rescanDevice": func(c *client.Client, ctx context.Context) {
		_, _ = c.OrderToDevice(ctx, "x", client.OrderSpec{Type: client.OrderRescan})
	},
	"rescanTag": func(c *client.Client, ctx context.Context) {
		_, _ = c.OrderToTag(ctx, "t", client.OrderSpec{Type: client.OrderRescan})
	},
	"pauseDevice": func(c *client.Client, ctx context.Context) {
		_, _ = c.OrderToDevice(ctx, "x", client.OrderSpec{Type: client.OrderPause})
	},
	"pauseTag": func(c *client.Client, ctx context.Context) {
		_, _ = c.OrderToTag(ctx, "t", client.OrderSpec{Type: client.OrderPause})
	},
	"resumeDevice": func(c *client.Client, ctx context.Context) {
		_, _ = c.OrderToDevice(ctx, "x", client.OrderSpec{Type: client.OrderResume})
	},
	"resumeTag": func(c *client.Client, ctx context.Context) {
		_, _ = c.OrderToTag(ctx, "t", client.OrderSpec{Type: client.OrderResume})
	},
	"upgradeDevice": func(c *client.Client, ctx context.Context) {
		_, _ = c.OrderToDevice(ctx, "x", client.OrderSpec{Type: client.OrderUpgrade})
	},
	"upgradeTag": func(c *client.Client, ctx context.Context) {
		_, _ = c.OrderToTag(ctx, "t", client.OrderSpec{Type: client.OrderUpgrade})
	},
	"createOrder": func(c *client.Client, ctx context.Context) {
		_, _ = c.OrderToDevices(ctx, []string{"x"}, client.OrderSpec{Type: client.OrderRestart})
	},
	"listOrders":        func(c *client.Client, ctx context.Context) { _, _ = c.Orders(ctx, client.List{}) },
	"getOrder":          func(c *client.Client, ctx context.Context) { _, _ = c.Order(ctx, 1) },
	"applyDevicePlan":   func(c *client.Client, ctx context.Context) { _, _ = c.ApplyPlan(ctx, "x", api.ApplyPlan{}) },
	"listDeviceFolders": func(c *client.Client, ctx context.Context) { _, _ = c.DeviceFolders(ctx, "x") },
	"listFileOnDevices": func(c *client.Client, ctx context.Context) {
		_, _ = c.FileOnDevices(ctx, "f", "p", client.List{})
	},
	"getFolderHistory":  func(c *client.Client, ctx context.Context) { _, _ = c.FolderHistory(ctx, "f", "day") },
	"listConflictFiles": func(c *client.Client, ctx context.Context) { _, _ = c.ConflictFiles(ctx, "f", client.List{}) },
	"listFailedItems":   func(c *client.Client, ctx context.Context) { _, _ = c.FailedItems(ctx, "f", client.List{}) },
	"getFolderCopies":   func(c *client.Client, ctx context.Context) { _, _ = c.FolderCopies(ctx, "f") },
	"getDeviceAtRisk":   func(c *client.Client, ctx context.Context) { _, _ = c.DeviceAtRisk(ctx, "x") },
	"listDeviceDisks":   func(c *client.Client, ctx context.Context) { _, _ = c.DeviceDisks(ctx, "x") },
	"getDeviceLog":      func(c *client.Client, ctx context.Context) { _, _ = c.DeviceLog(ctx, "x", time.Time{}) },
	"listFolderDevices": func(c *client.Client, ctx context.Context) {
		_, _ = c.FolderDevices(ctx, "f", client.List{})
	},
	"getFolderState":      func(c *client.Client, ctx context.Context) { _, _ = c.FleetFolder(ctx, "f") },
	"listFolderOverviews": func(c *client.Client, ctx context.Context) { _, _ = c.FolderOverviews(ctx, client.List{}) },
	"listTagOverviews":    func(c *client.Client, ctx context.Context) { _, _ = c.TagOverviews(ctx) },
	"listConsents":        func(c *client.Client, ctx context.Context) { _, _ = c.Consents(ctx) },
	"answerConsents": func(c *client.Client, ctx context.Context) {
		_,
			_ = c.AnswerConsents(ctx, api.AnswerConsents{})
	},
	"listGivenConsents": func(c *client.Client, ctx context.Context) { _, _ = c.GivenConsents(ctx) },
	"listDifferences": func(c *client.Client, ctx context.Context) {
		_, _ = c.Differences(ctx, client.InventoryQuery{})
	},
	"planWhatIf":       func(c *client.Client, ctx context.Context) { _, _ = c.WhatIf(ctx, api.WhatIf{}) },
	"getFleet":         func(c *client.Client, ctx context.Context) { _, _ = c.Fleet(ctx) },
	"planFleet":        func(c *client.Client, ctx context.Context) { _, _ = c.PlanFleet(ctx, api.PlanFleet{}) },
	"applyFleet":       func(c *client.Client, ctx context.Context) { _, _ = c.ApplyFleet(ctx, api.ApplyFleet{}) },
	"forgetSource":     func(c *client.Client, ctx context.Context) { _ = c.ForgetSource(ctx, "s") },
	"applyChanges":     func(c *client.Client, ctx context.Context) { _, _ = c.ApplyChanges(ctx, api.ApplyChanges{}) },
	"listRollouts":     func(c *client.Client, ctx context.Context) { _, _ = c.Rollouts(ctx, client.List{}) },
	"getRollout":       func(c *client.Client, ctx context.Context) { _, _ = c.Rollout(ctx, 1) },
	"pauseRollout":     func(c *client.Client, ctx context.Context) { _, _ = c.PauseRollout(ctx, 1) },
	"resumeRollout":    func(c *client.Client, ctx context.Context) { _, _ = c.ResumeRollout(ctx, 1) },
	"haltRollout":      func(c *client.Client, ctx context.Context) { _, _ = c.HaltRollout(ctx, 1) },
	"getRolloutRest":   func(c *client.Client, ctx context.Context) { _, _ = c.RolloutRest(ctx, 1) },
	"planUndo":         func(c *client.Client, ctx context.Context) { _, _ = c.PlanUndo(ctx, 1) },
	"undoRollout":      func(c *client.Client, ctx context.Context) { _, _ = c.UndoRollout(ctx, 1, nil) },
	"approveRollout":   func(c *client.Client, ctx context.Context) { _, _ = c.ApproveRollout(ctx, 1) },
	"putRolloutWaves":  func(c *client.Client, ctx context.Context) { _, _ = c.PutRolloutWaves(ctx, 1, nil) },
	"listStops":        func(c *client.Client, ctx context.Context) { _, _ = c.Stops(ctx, client.List{}) },
	"listRevisions":    func(c *client.Client, ctx context.Context) { _, _ = c.Revisions(ctx, "x", client.List{}) },
	"getRevision":      func(c *client.Client, ctx context.Context) { _, _ = c.Revision(ctx, "x", 1) },
	"compareRevisions": func(c *client.Client, ctx context.Context) { _, _ = c.CompareRevisions(ctx, "x", 1, 2) },
	"restoreRevision": func(c *client.Client, ctx context.Context) {
		_,
			_ = c.RestoreRevision(ctx, "x", 1, api.Restore{})
	},
	"getDeviceSettings": func(c *client.Client, ctx context.Context) { _, _ = c.DeviceSettings(ctx, "x") },
	"putDeviceSettings": func(c *client.Client, ctx context.Context) {
		_, _ = c.PutDeviceSettings(ctx, "x", api.PutDeviceSettings{})
	},
	"beginDeviceLogin": func(c *client.Client, ctx context.Context) { _, _ = c.BeginDeviceLogin(ctx) },
	"endDeviceLogin":   func(c *client.Client, ctx context.Context) { _, _ = c.EndDeviceLogin(ctx, "h") },
	"getLogin":         func(c *client.Client, ctx context.Context) { _, _ = c.LoginMethods(ctx) },
	"getTagSettings":   func(c *client.Client, ctx context.Context) { _, _ = c.TagMode(ctx, "t") },
	"putTagSettings":   func(c *client.Client, ctx context.Context) { _, _ = c.SwitchTagMode(ctx, "t", "on") },
	"getTagProtection": func(c *client.Client, ctx context.Context) { _, _ = c.TagProtected(ctx, "t") },
	"putTagProtection": func(c *client.Client, ctx context.Context) { _ = c.ProtectTag(ctx, "t", true) },
	"getConfigurator":  func(c *client.Client, ctx context.Context) { _, _ = c.Mode(ctx) },
	"putConfigurator":  func(c *client.Client, ctx context.Context) { _, _ = c.SwitchMode(ctx, "on") },
	"listTemplates":    func(c *client.Client, ctx context.Context) { _, _ = c.Templates(ctx, client.List{}) },
	"createTemplate":   func(c *client.Client, ctx context.Context) { _, _ = c.CreateTemplate(ctx, api.PutTemplate{}) },
	"getTemplate":      func(c *client.Client, ctx context.Context) { _, _ = c.Template(ctx, 1) },
	"putTemplate":      func(c *client.Client, ctx context.Context) { _, _ = c.PutTemplate(ctx, 1, api.PutTemplate{}) },
	"deleteTemplate":   func(c *client.Client, ctx context.Context) { _ = c.DeleteTemplate(ctx, 1) },
	"getTemplateSaver": func(c *client.Client, ctx context.Context) { _, _ = c.TemplateSaver(ctx, 1) },
	"listTemplateVersions": func(c *client.Client, ctx context.Context) {
		_, _ = c.TemplateVersions(ctx, 1, client.List{})
	},
	"listFolderShares":   func(c *client.Client, ctx context.Context) { _, _ = c.FolderShares(ctx, "f", client.List{}) },
	"listOneSidedShares": func(c *client.Client, ctx context.Context) { _, _ = c.OneSidedShares(ctx, client.List{}) },
	"getFolderMatrix": func(c *client.Client, ctx context.Context) {
		_, _ = c.FolderMatrix(ctx, client.InventoryQuery{})
	},
	"getTemplateVersion": func(c *client.Client, ctx context.Context) { _, _ = c.TemplateVersion(ctx, 1, 1) },
	"getAuthorKeys":      func(c *client.Client, ctx context.Context) { _, _ = c.AuthorKeys(ctx) },
	"putAuthorKeys":      func(c *client.Client, ctx context.Context) { _, _ = c.PutAuthorKeys(ctx, nil) },
	"getFolderRoots":     func(c *client.Client, ctx context.Context) { _, _ = c.FolderRoots(ctx) },
	"putFolderRoots":     func(c *client.Client, ctx context.Context) { _, _ = c.PutFolderRoots(ctx, nil) },
	"getTemplateTags":    func(c *client.Client, ctx context.Context) { _, _ = c.TemplateTags(ctx, 1) },
	"tagTemplate":        func(c *client.Client, ctx context.Context) { _, _ = c.TagTemplate(ctx, 1, "t") },
	"untagTemplate":      func(c *client.Client, ctx context.Context) { _, _ = c.UntagTemplate(ctx, 1, "t") },
	"evaluateTemplate":   func(c *client.Client, ctx context.Context) { _, _ = c.EvaluateTemplate(ctx, 1, "") },
	"evaluateNewTemplate": func(c *client.Client, ctx context.Context) {
		_, _ = c.EvaluateNewTemplate(ctx, api.EvaluateTemplate{}, "")
	},
	"listForms":          func(c *client.Client, ctx context.Context) { _, _ = c.Forms(ctx) },
	"listConfigSettings": func(c *client.Client, ctx context.Context) { _, _ = c.ConfigSettings(ctx) },
	"writeForm":          func(c *client.Client, ctx context.Context) { _, _ = c.WriteForm(ctx, api.WriteForm{}) },
	"getTemplateForm":    func(c *client.Client, ctx context.Context) { _, _ = c.TemplateForm(ctx, 1) },
	"listTags":           func(c *client.Client, ctx context.Context) { _, _ = c.Tags(ctx, client.List{}) },
	"deleteTag":          func(c *client.Client, ctx context.Context) { _, _ = c.DeleteTag(ctx, "t") },
	"listTagDevices":     func(c *client.Client, ctx context.Context) { _, _ = c.TagDevices(ctx, "t", client.List{}) },
	"listTagTemplates":   func(c *client.Client, ctx context.Context) { _, _ = c.TagTemplates(ctx, "t", client.List{}) },
	"listFolders":        func(c *client.Client, ctx context.Context) { _, _ = c.Folders(ctx, client.List{}) },
	"getFolder":          func(c *client.Client, ctx context.Context) { _, _ = c.FolderSummaries(ctx, "f") },
	"followEvents": func(c *client.Client, ctx context.Context) {
		_,
			_ = c.Events(ctx, client.EventFilter{}, 0, nil)
	},
	"listTokens":  func(c *client.Client, ctx context.Context) { _, _ = c.Tokens(ctx) },
	"createToken": func(c *client.Client, ctx context.Context) { _, _ = c.CreateToken(ctx, "n", "viewer") },
	"rotateToken": func(c *client.Client, ctx context.Context) {
		_, _ = c.RotateToken(ctx, "n", api.RotateToken{})
	},
	"deleteToken":       func(c *client.Client, ctx context.Context) { _ = c.DeleteToken(ctx, "n") },
	"listUsers":         func(c *client.Client, ctx context.Context) { _, _ = c.Users(ctx) },
	"createUser":        func(c *client.Client, ctx context.Context) { _, _ = c.CreateUser(ctx, api.CreateUser{}) },
	"getUser":           func(c *client.Client, ctx context.Context) { _, _ = c.User(ctx, "n") },
	"putUser":           func(c *client.Client, ctx context.Context) { _, _ = c.PutUser(ctx, "n", api.PutUser{}) },
	"disableUser":       func(c *client.Client, ctx context.Context) { _, _ = c.DisableUser(ctx, "n") },
	"enableUser":        func(c *client.Client, ctx context.Context) { _, _ = c.EnableUser(ctx, "n") },
	"deleteUser":        func(c *client.Client, ctx context.Context) { _ = c.DeleteUser(ctx, "n") },
	"login":             func(c *client.Client, ctx context.Context) { _, _, _ = c.Login(ctx, "n", "p", "") },
	"exchangeLoginCode": func(c *client.Client, ctx context.Context) { _, _ = c.ExchangeLoginCode(ctx, "c") },
	"createTicket":      func(c *client.Client, ctx context.Context) { _, _ = c.CreateTicket(ctx, "p") },
	"logout":            func(c *client.Client, ctx context.Context) { _ = c.Logout(ctx) },
	"whoami":            func(c *client.Client, ctx context.Context) { _, _ = c.Whoami(ctx) },
	"listSessions":      func(c *client.Client, ctx context.Context) { _, _ = c.Sessions(ctx) },
	"endSession":        func(c *client.Client, ctx context.Context) { _ = c.EndSession(ctx, "s") },
	"changePassword":    func(c *client.Client, ctx context.Context) { _, _ = c.ChangePassword(ctx, "a", "b") },
	"createLoginLink": func(c *client.Client, ctx context.Context) {
		_, _ = c.CreateLoginLink(ctx, api.CreateLoginLink{})
	},
	"listSinks": func(c *client.Client, ctx context.Context) { _, _ = c.Sinks(ctx) },
	"putSink": func(c *client.Client, ctx context.Context) {
		_, _, _ = c.PutSink(ctx, "n", api.PutSink{Kind: new("file")})
	},
	"deleteSink": func(c *client.Client, ctx context.Context) { _ = c.DeleteSink(ctx, "n") },
	"testSink":   func(c *client.Client, ctx context.Context) { _ = c.TestSink(ctx, "n") },
	"replaySink": func(c *client.Client, ctx context.Context) {
		_ = c.ReplaySink(ctx, "n", api.ReplaySink{Since: &api.Time{}})
	},
	"listSinkRefusals": func(c *client.Client, ctx context.Context) { _, _ = c.SinkRefusals(ctx, "n") },
	"listSecrets":      func(c *client.Client, ctx context.Context) { _, _ = c.Secrets(ctx) },
	"putSecret": func(c *client.Client, ctx context.Context) {
		_, _, _ = c.PutSecret(ctx, "n", api.PutSecret{Value: new("v")})
	},
	"getSeal":      func(c *client.Client, ctx context.Context) { _, _ = c.Seal(ctx) },
	"rotateSeal":   func(c *client.Client, ctx context.Context) { _, _ = c.RotateSeal(ctx) },
	"getDemo":      func(c *client.Client, ctx context.Context) { _, _ = c.Demo(ctx) },
	"startDemo":    func(c *client.Client, ctx context.Context) { _, _ = c.StartDemo(ctx) },
	"endDemo":      func(c *client.Client, ctx context.Context) { _ = c.EndDemo(ctx) },
	"deleteSecret": func(c *client.Client, ctx context.Context) { _ = c.DeleteSecret(ctx, "n") },
	"listEventLog": func(c *client.Client, ctx context.Context) {
		_, _ = c.EventLog(ctx, client.LogSearch{Kinds: []string{"folder"}, Oldest: true})
	},
	"listAudit": func(c *client.Client, ctx context.Context) {
		_, _ = c.Audit(ctx, client.AuditSearch{Who: "x", Oldest: true})
	},
	"listRecentChanges": func(c *client.Client, ctx context.Context) {
		_, _ = c.RecentChanges(ctx, 3)
	},
	"verifyAudit":      func(c *client.Client, ctx context.Context) { _, _ = c.VerifyAudit(ctx, nil) },
	"acceptLoss":       func(c *client.Client, ctx context.Context) { _, _ = c.AcceptLoss(ctx, api.AcceptLoss{Entry: 1}) },
	"signAudit":        func(c *client.Client, ctx context.Context) { _, _ = c.SignAudit(ctx) },
	"listPending":      func(c *client.Client, ctx context.Context) { _, _ = c.Pending(ctx, client.List{}) },
	"acceptPending":    func(c *client.Client, ctx context.Context) { _ = c.AcceptPending(ctx, "p", api.AcceptPending{}) },
	"dismissPending":   func(c *client.Client, ctx context.Context) { _ = c.DismissPending(ctx, "p") },
	"getInventory":     func(c *client.Client, ctx context.Context) { _, _ = c.Inventory(ctx, client.InventoryQuery{}) },
	"listWaiting":      func(c *client.Client, ctx context.Context) { _, _ = c.Waiting(ctx, "") },
	"getHistory":       func(c *client.Client, ctx context.Context) { _, _ = c.History(ctx, "month") },
	"getOverview":      func(c *client.Client, ctx context.Context) { _, _ = c.Overview(ctx) },
	"getMetrics":       func(c *client.Client, ctx context.Context) { _, _ = c.Metrics(ctx) },
	"healthz":          func(c *client.Client, ctx context.Context) { _ = c.Healthy(ctx) },
	"readyz":           func(c *client.Client, ctx context.Context) { _ = c.Ready(ctx) },
	"getVersion":       func(c *client.Client, ctx context.Context) { _, _ = c.Version(ctx) },
	"getOpenAPI":       func(c *client.Client, ctx context.Context) { _, _ = c.OpenAPI(ctx) },
	"listEnrollments":  func(c *client.Client, ctx context.Context) { _, _ = c.Enrollments(ctx, client.List{}) },
	"countEnrollments": func(c *client.Client, ctx context.Context) { _, _ = c.EnrollmentCounts(ctx) },
	"acceptEnrollment": func(c *client.Client, ctx context.Context) {
		_, _ = c.AcceptEnrollment(ctx, "x", api.AcceptEnrollment{})
	},
	"rejectEnrollment": func(c *client.Client, ctx context.Context) { _ = c.RejectEnrollment(ctx, "x") },
	"forgetEnrollment": func(c *client.Client, ctx context.Context) { _ = c.ForgetEnrollment(ctx, "x") },
	"listChannels":     func(c *client.Client, ctx context.Context) { _, _ = c.Channels(ctx) },
	"putChannel":       func(c *client.Client, ctx context.Context) { _, _ = c.PutChannel(ctx, "c", api.PutChannel{}) },
	"deleteChannel":    func(c *client.Client, ctx context.Context) { _ = c.DeleteChannel(ctx, "c") },
	"testChannel":      func(c *client.Client, ctx context.Context) { _, _ = c.TestChannel(ctx, "c") },
	"listDeliveries":   func(c *client.Client, ctx context.Context) { _, _ = c.Deliveries(ctx, "c") },
	"listRoutes":       func(c *client.Client, ctx context.Context) { _, _ = c.Routes(ctx) },
	"putRoute":         func(c *client.Client, ctx context.Context) { _, _ = c.PutRoute(ctx, "r", api.PutRoute{}) },
	"deleteRoute":      func(c *client.Client, ctx context.Context) { _ = c.DeleteRoute(ctx, "r") },
	"listSilences":     func(c *client.Client, ctx context.Context) { _, _ = c.Silences(ctx) },
	"createSilence":    func(c *client.Client, ctx context.Context) { _, _ = c.CreateSilence(ctx, api.CreateSilence{}) },
	"endSilence":       func(c *client.Client, ctx context.Context) { _ = c.EndSilence(ctx, "s") },
	"listEnrollKeys":   func(c *client.Client, ctx context.Context) { _, _ = c.EnrollKeys(ctx) },
	"createEnrollKey": func(c *client.Client, ctx context.Context) {
		_, _ = c.CreateEnrollKey(ctx, api.CreateEnrollKey{})
	},
	"deleteEnrollKey": func(c *client.Client, ctx context.Context) { _ = c.DeleteEnrollKey(ctx, "k") },
	"revokeDevice": func(c *client.Client, ctx context.Context) {
		_, _ = c.RevokeDevice(ctx, string(idA), api.RevokeDevice{})
	},
	"listRevocations": func(c *client.Client, ctx context.Context) { _, _ = c.Revocations(ctx) },
	"getRevocation": func(c *client.Client, ctx context.Context) {
		_, _ = c.RevocationCertificate(ctx, string(idA))
	},
	"listRevocationProofs": func(c *client.Client, ctx context.Context) {
		_, _ = c.RevocationProofs(ctx, string(idA), "", client.List{})
	},
	"deleteRevocation": func(c *client.Client, ctx context.Context) { _ = c.DeleteRevocation(ctx, string(idA)) },
	"enrollChallenge":  func(c *client.Client, ctx context.Context) { _, _ = c.EnrollChallenge(ctx) },
	"enroll":           func(c *client.Client, ctx context.Context) { _, _ = c.Enroll(ctx, api.DeviceClaim{}) },
	"renewEnrollment":  func(c *client.Client, ctx context.Context) { _, _ = c.RenewEnrollment(ctx, api.DeviceClaim{}) },
}

// wire answers nothing and keeps the last request.
type wire struct{ last *http.Request }

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.last = r
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")),
		Request: r}, nil
}

func TestTheClientHasACallForEveryRoute(t *testing.T) {
	server := newWorld(t).api
	over := &wire{}
	c, err := client.NewWith("http://127.0.0.1", "x", &http.Client{Transport: over})
	if err != nil {
		t.Fatal(err)
	}
	for _, route := range server.routes {
		call := callOf[route.name]
		if call == nil {
			t.Errorf("%s: the client does not know %s %s", route.name, route.method, route.path)
			continue
		}
		call(c, t.Context())
		if _, pattern := server.mux.Handler(over.last); pattern != route.method+" "+route.path {
			t.Errorf("%s: the client calls %s %s, which is %q", route.name, over.last.Method, over.last.URL, pattern)
		}
	}
	if len(callOf) != len(server.routes) {
		t.Errorf("%d calls for %d routes", len(callOf), len(server.routes))
	}
}
