package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"muster/internal/edge/httpapi"
)

// commandFor says which command does what an operation of the API is for.
var commandFor = map[string]string{
	"listDevices":          "device list",
	"getDevice":            "device get",
	"putDevice":            "device add",
	"testDevice":           "device add",
	"deleteDevice":         "device delete",
	"getDeviceTags":        "device get",
	"tagDevice":            "device tag",
	"untagDevice":          "device untag",
	"getDeviceVersion":     "device get",
	"getDeviceConfig":      "device config",
	"getDeviceState":       "status",
	"listDeviceDisks":      "device disks",
	"getDeviceTrust":       "device trust",
	"trustDevice":          "device trust",
	"listStates":           "status",
	"getDevicePlan":        "apply",
	"getDeviceWhy":         "why",
	"listManagedKeys":      "device config",
	"listDeviceTemplates":  "device get",
	"applyDevicePlan":      "apply",
	"listConsents":         "consent list",
	"answerConsents":       "consent give",
	"listGivenConsents":    "consent list",
	"planWhatIf":           "plan",
	"getFleet":             "export",
	"planFleet":            "plan",
	"applyFleet":           "apply",
	"forgetSource":         "source forget",
	"applyChanges":         "template put",
	"listRollouts":         "rollout list",
	"getRollout":           "rollout show",
	"getRolloutRest":       "rollout show",
	"pauseRollout":         "rollout pause",
	"resumeRollout":        "rollout resume",
	"haltRollout":          "rollout halt",
	"planUndo":             "rollout undo",
	"undoRollout":          "rollout undo",
	"approveRollout":       "rollout approve",
	"putRolloutWaves":      "rollout waves",
	"listStops":            "status",
	"listRevisions":        "revision list",
	"getRevision":          "revision show",
	"compareRevisions":     "revision diff",
	"restoreRevision":      "revision restore",
	"getDeviceSettings":    "device settings",
	"putDeviceSettings":    "device settings",
	"getDeviceVars":        "device vars",
	"putDeviceVars":        "device vars",
	"getEffectiveVars":     "device vars",
	"getTagVars":           "tag vars",
	"putTagVars":           "tag vars",
	"getTagSettings":       "stop",
	"putTagSettings":       "stop",
	"getConfigurator":      "stop",
	"putConfigurator":      "stop",
	"getTagProtection":     "tag protect",
	"putTagProtection":     "tag protect",
	"getAuthorKeys":        "author-keys list",
	"putAuthorKeys":        "author-keys add",
	"getFolderRoots":       "folder-roots list",
	"putFolderRoots":       "folder-roots add",
	"listTemplates":        "template list",
	"createTemplate":       "template put",
	"getTemplate":          "template get",
	"putTemplate":          "template put",
	"deleteTemplate":       "template delete",
	"getTemplateTags":      "template get",
	"tagTemplate":          "template tag",
	"untagTemplate":        "template untag",
	"evaluateTemplate":     "template evaluate",
	"evaluateNewTemplate":  "template evaluate",
	"listForms":            "template form list",
	"listConfigSettings":   "template form settings",
	"writeForm":            "template form put",
	"getTemplateForm":      "folder share",
	"listTags":             "tag list",
	"deleteTag":            "tag delete",
	"listTagDevices":       "tag delete",
	"listTagTemplates":     "tag delete",
	"listFolderOverviews":  "folder list",
	"listOneSidedShares":   "folder one-sided",
	"getFolder":            "folder get",
	"listDeviceFolders":    "device get",
	"listFolderDevices":    "folder get",
	"getFolderState":       "folder get",
	"listFileOnDevices":    "file",
	"getFolderCopies":      "folder copies",
	"getDeviceAtRisk":      "device at-risk",
	"listFailedItems":      "folder failed",
	"listConflictFiles":    "folder conflicts",
	"getFolderHistory":     "folder history",
	"getDeviceLog":         "device log",
	"listFolderShares":     "folder who",
	"followEvents":         "events",
	"listEventLog":         "events",
	"listTokens":           "token list",
	"createToken":          "token create",
	"deleteToken":          "token delete",
	"rotateToken":          "token rotate",
	"listUsers":            "user list",
	"createUser":           "user create",
	"putUser":              "user role",
	"deleteUser":           "user delete",
	"disableUser":          "user disable",
	"enableUser":           "user enable",
	"changePassword":       "user password",
	"login":                "login",
	"logout":               "logout",
	"whoami":               "whoami",
	"beginDeviceLogin":     "login",
	"endDeviceLogin":       "login",
	"listSessions":         "session list",
	"endSession":           "session end",
	"getUser":              "user list",
	"listSettings":         "setting list",
	"getSetting":           "setting get",
	"putSetting":           "setting set",
	"resetSetting":         "setting reset",
	"testSetting":          "setting test",
	"createLoginLink":      "login-link",
	"listSinks":            "sink list",
	"putSink":              "sink set",
	"deleteSink":           "sink delete",
	"testSink":             "sink test",
	"replaySink":           "sink replay",
	"listSinkRefusals":     "sink refusals",
	"listSecrets":          "secret list",
	"putSecret":            "secret put",
	"deleteSecret":         "secret delete",
	"getSeal":              "seal show",
	"rotateSeal":           "seal rotate",
	"listAudit":            "audit list",
	"listRecentChanges":    "audit changes",
	"verifyAudit":          "audit verify",
	"acceptLoss":           "audit accept-loss",
	"signAudit":            "audit head",
	"listChannels":         "channel list",
	"putChannel":           "channel set",
	"deleteChannel":        "channel delete",
	"testChannel":          "channel test",
	"listDeliveries":       "channel log",
	"listRoutes":           "route list",
	"putRoute":             "route set",
	"deleteRoute":          "route delete",
	"listSilences":         "silence list",
	"createSilence":        "silence add",
	"endSilence":           "silence end",
	"listEnrollments":      "enrollment list",
	"countEnrollments":     "enrollment list",
	"acceptEnrollment":     "enrollment accept",
	"rejectEnrollment":     "enrollment reject",
	"forgetEnrollment":     "enrollment forget",
	"listEnrollKeys":       "enroll-key list",
	"createEnrollKey":      "enroll-key create",
	"deleteEnrollKey":      "enroll-key revoke",
	"revokeDevice":         "device revoke",
	"listRevocations":      "revocation list",
	"deleteRevocation":     "revocation delete",
	"getRevocation":        "device revocation",
	"listRevocationProofs": "device revocation",
	"enroll":               "agent run",
	"enrollChallenge":      "agent run",
	"renewEnrollment":      "agent run",
	"listPending":          "pending list",
	"acceptPending":        "pending accept",
	"dismissPending":       "pending dismiss",
	"getInventory":         "device list",
	"listWaiting":          "waiting",
	"getOverview":          "status",
	"restartDevice":        "device restart",
	"rescanDevice":         "device rescan",
	"pauseDevice":          "device pause",
	"resumeDevice":         "device resume",
	"upgradeDevice":        "device upgrade",
	"restartTag":           "tag restart",
	"rescanTag":            "tag rescan",
	"pauseTag":             "tag pause",
	"resumeTag":            "tag resume",
	"upgradeTag":           "tag upgrade",
	"createOrder":          "folder pause",
	"listOrders":           "order list",
	"getOrder":             "order show",
	"healthz":              "doctor",
	"readyz":               "ready",
	"getVersion":           "version",
}

// leftOut are the operations without a command, and why.
var leftOut = map[string]string{
	"getDeviceStatus":      "numbers of one process at one moment: the console and /metrics show them over time",
	"listTemplateVersions": "the console shows earlier texts; at the command line they are in Git",
	"getTemplateVersion":   "likewise",
	"getTemplateSaver":     "muster why names who saved a template last",
	"listDifferences":      "the console's one view of all differences; status and apply show them for each device",
	"getHistory":           "curves are for the console",
	"getMetrics":           "it is for Prometheus",
	"getLogin":             "it tells the console how people log in",
	"getFolderMatrix":      "a matrix is for the console",
	"listTagOverviews":     "the console's page of all tags; tag list has them",
	"listFolders":          "folder list has them with their numbers",
	"getDemo":              "at the command line it is muster serve --demo",
	"startDemo":            "likewise",
	"endDemo":              "likewise",
	"exchangeLoginCode":    "it is for the pages of the log-in",
	"createTicket":         "it is for downloads of the console: a command sends its token",
	"getOpenAPI":           "it is for programs that make clients",
}

func TestEveryOperationOfTheAPIHasACommandOrAReason(t *testing.T) {
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(httpapi.OpenAPIDocument(), &document); err != nil {
		t.Fatal(err)
	}
	known := commandNames(t)
	operations := map[string]bool{}
	for _, methods := range document.Paths {
		for _, operation := range methods {
			id := operation.OperationID
			operations[id] = true
			command, has := commandFor[id]
			reason, excused := leftOut[id]
			switch {
			case !has && !excused:
				t.Errorf("%s has no command: name it in commandFor, or in leftOut with the reason", id)
			case has && excused:
				t.Errorf("%s has the command %q and is left out: %s", id, command, reason)
			case has && !slices.Contains(known, command):
				t.Errorf("%s: there is no command %q", id, command)
			}
		}
	}
	for _, table := range []map[string]string{commandFor, leftOut} {
		for id := range table {
			if !operations[id] {
				t.Errorf("the API has no operation %s", id)
			}
		}
	}
}

// commandNames are all commands, as they are typed.
func commandNames(t *testing.T) (names []string) {
	t.Helper()
	var all commands
	var add func(node *kong.Node, prefix string)
	add = func(node *kong.Node, prefix string) {
		names = append(names, strings.TrimSpace(prefix))
		for _, child := range node.Children {
			add(child, prefix+" "+child.Name)
		}
	}
	add(modelOf(t, &all).Model.Node, "")
	return names
}
