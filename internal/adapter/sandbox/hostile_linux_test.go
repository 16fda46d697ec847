package sandbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	roles["hostile"] = hostile
	roles["starts"] = starts
}

// attempt is a system call that a program which has taken over a worker might try.
type attempt struct {
	name      string
	number    uintptr
	arguments [6]uintptr
}

// text is the address of a string as the kernel wants it. It stays reachable, as all of them are kept.
func text(s string) uintptr {
	kept := new([256]byte)
	copy(kept[:], s)
	texts = append(texts, kept)
	return uintptr(unsafe.Pointer(kept))
}

var texts []*[256]byte

// attempts are tried against a file that exists, a program, and the process of the test. They do little where they are
// not refused: signals are 0, and what concerns the whole machine has arguments that it does not take.
func attempts(file, program string, victim int) []attempt {
	here := uintptr(0xffffffffffffff9c) // AT_FDCWD
	at := text("")
	pid := uintptr(victim)
	all := []attempt{
		{"socket inet", unix.SYS_SOCKET, [6]uintptr{unix.AF_INET, unix.SOCK_STREAM}},
		{"socket unix", unix.SYS_SOCKET, [6]uintptr{unix.AF_UNIX, unix.SOCK_STREAM}},
		{"socket netlink", unix.SYS_SOCKET, [6]uintptr{unix.AF_NETLINK, unix.SOCK_RAW}},
		{"socketpair", unix.SYS_SOCKETPAIR, [6]uintptr{unix.AF_UNIX, unix.SOCK_STREAM, 0, at}},
		{"connect", unix.SYS_CONNECT, [6]uintptr{0, at, 16}},
		{"bind", unix.SYS_BIND, [6]uintptr{0, at, 16}},
		{"sendmsg", unix.SYS_SENDMSG, [6]uintptr{1, at}},
		{"io_uring_setup", unix.SYS_IO_URING_SETUP, [6]uintptr{1, at}},
		{"io_uring_enter", unix.SYS_IO_URING_ENTER, [6]uintptr{0, 1}},
		{"execve", unix.SYS_EXECVE, [6]uintptr{text(program), 0, 0}},
		{"execveat", unix.SYS_EXECVEAT, [6]uintptr{here, text(program), 0, 0, 0}},
		{"fork", unix.SYS_CLONE, [6]uintptr{uintptr(unix.SIGCHLD)}},
		{"vfork", unix.SYS_CLONE, [6]uintptr{unix.CLONE_VFORK | uintptr(unix.SIGCHLD)}},
		{"clone3", unix.SYS_CLONE3, [6]uintptr{at, 64}},
		{"open to read", unix.SYS_OPENAT, [6]uintptr{here, text(file), unix.O_RDONLY}},
		{"open to write", unix.SYS_OPENAT, [6]uintptr{here, text(file), unix.O_WRONLY}},
		{"open to read and write", unix.SYS_OPENAT, [6]uintptr{here, text(file), unix.O_RDWR}},
		{"create", unix.SYS_OPENAT, [6]uintptr{here, text(file + "-new"), unix.O_WRONLY | unix.O_CREAT, 0o600}},
		{"open a folder", unix.SYS_OPENAT, [6]uintptr{here, text("/"), unix.O_RDONLY | unix.O_DIRECTORY}},
		{"open a path", unix.SYS_OPENAT, [6]uintptr{here, text(file), unix.O_PATH}},
		{"openat2", unix.SYS_OPENAT2, [6]uintptr{here, text(file), at, 24}},
		{"open by handle", unix.SYS_OPEN_BY_HANDLE_AT, [6]uintptr{0, at, 0}},
		{"memfd_create", unix.SYS_MEMFD_CREATE, [6]uintptr{text("x")}},
		{"unlink", unix.SYS_UNLINKAT, [6]uintptr{here, text(file)}},
		{"rename", unix.SYS_RENAMEAT, [6]uintptr{here, text(file), here, text(file + "-moved")}},
		{"rename2", unix.SYS_RENAMEAT2, [6]uintptr{here, text(file), here, text(file + "-moved")}},
		{"link", unix.SYS_LINKAT, [6]uintptr{here, text(file), here, text(file + "-link")}},
		{"symlink", unix.SYS_SYMLINKAT, [6]uintptr{text(file), here, text(file + "-symlink")}},
		{"mkdir", unix.SYS_MKDIRAT, [6]uintptr{here, text(file + "-folder"), 0o700}},
		{"mknod", unix.SYS_MKNODAT, [6]uintptr{here, text(file + "-fifo"), unix.S_IFIFO | 0o600}},
		{"truncate", unix.SYS_TRUNCATE, [6]uintptr{text(file), 0}},
		{"chmod", unix.SYS_FCHMODAT, [6]uintptr{here, text(file), 0o777}},
		{"chown", unix.SYS_FCHOWNAT, [6]uintptr{here, text(file), 1, 1}},
		{"utimes", unix.SYS_UTIMENSAT, [6]uintptr{here, text(file)}},
		{"setxattr", unix.SYS_SETXATTR, [6]uintptr{text(file), text("user.x"), at, 1}},
		{"stat", unix.SYS_STATX, [6]uintptr{here, text(file), 0, unix.STATX_ALL, at}},
		{"readlink", unix.SYS_READLINKAT, [6]uintptr{here, text("/proc/self/exe"), at, 100}},
		{"chdir", unix.SYS_CHDIR, [6]uintptr{text("/tmp")}},
		{"chroot", unix.SYS_CHROOT, [6]uintptr{text("/")}},
		{"mount", unix.SYS_MOUNT, [6]uintptr{text("none"), text(file), text("tmpfs")}},
		{"umount", unix.SYS_UMOUNT2, [6]uintptr{text(file)}},
		{"pivot_root", unix.SYS_PIVOT_ROOT, [6]uintptr{text("/"), text("/")}},
		{"open_tree", unix.SYS_OPEN_TREE, [6]uintptr{here, text("/")}},
		{"fsopen", unix.SYS_FSOPEN, [6]uintptr{text("tmpfs")}},
		{"inotify", unix.SYS_INOTIFY_INIT1, [6]uintptr{}},
		{"fanotify", unix.SYS_FANOTIFY_INIT, [6]uintptr{}},
		{"ptrace", unix.SYS_PTRACE, [6]uintptr{unix.PTRACE_SEIZE, 0}},
		{"process_vm_readv", unix.SYS_PROCESS_VM_READV, [6]uintptr{pid, at, 1, at, 1}},
		{"process_vm_writev", unix.SYS_PROCESS_VM_WRITEV, [6]uintptr{pid, at, 1, at, 1}},
		{"process_madvise", unix.SYS_PROCESS_MADVISE, [6]uintptr{0, at, 1, 4}},
		{"kill", unix.SYS_KILL, [6]uintptr{pid, 0}},
		{"tkill", unix.SYS_TKILL, [6]uintptr{pid, 0}},
		{"tgkill", unix.SYS_TGKILL, [6]uintptr{pid, pid, 0}},
		{"sigqueue", unix.SYS_RT_SIGQUEUEINFO, [6]uintptr{pid, 0, at}},
		{"pidfd_open", unix.SYS_PIDFD_OPEN, [6]uintptr{pid}},
		{"pidfd_getfd", unix.SYS_PIDFD_GETFD, [6]uintptr{0, 0}},
		{"pidfd_send_signal", unix.SYS_PIDFD_SEND_SIGNAL, [6]uintptr{0, 0}},
		{"kcmp", unix.SYS_KCMP, [6]uintptr{pid, pid}},
		{"setpriority", unix.SYS_SETPRIORITY, [6]uintptr{unix.PRIO_PROCESS, 0, 19}},
		{"sched_setaffinity", unix.SYS_SCHED_SETAFFINITY, [6]uintptr{0, 8, at}},
		{"bpf", unix.SYS_BPF, [6]uintptr{0, at, 48}},
		{"perf_event_open", unix.SYS_PERF_EVENT_OPEN, [6]uintptr{at}},
		{"keyctl", unix.SYS_KEYCTL, [6]uintptr{0, 0}},
		{"add_key", unix.SYS_ADD_KEY, [6]uintptr{text("user"), text("x"), at, 1}},
		{"request_key", unix.SYS_REQUEST_KEY, [6]uintptr{text("user"), text("x")}},
		{"userfaultfd", unix.SYS_USERFAULTFD, [6]uintptr{1}},
		{"setns", unix.SYS_SETNS, [6]uintptr{0, 0}},
		{"unshare", unix.SYS_UNSHARE, [6]uintptr{unix.CLONE_NEWUSER}},
		{"clone into a namespace", unix.SYS_CLONE, [6]uintptr{unix.CLONE_NEWUSER | uintptr(unix.SIGCHLD)}},
		{"setuid", unix.SYS_SETUID, [6]uintptr{0}},
		{"capset", unix.SYS_CAPSET, [6]uintptr{at, at}},
		{"prlimit", unix.SYS_PRLIMIT64, [6]uintptr{0, unix.RLIMIT_DATA, at}},
		{"dumpable again", unix.SYS_PRCTL, [6]uintptr{unix.PR_SET_DUMPABLE, 1}},
		{"live on without the server", unix.SYS_PRCTL, [6]uintptr{unix.PR_SET_PDEATHSIG, 0}},
		{"another filter", unix.SYS_SECCOMP, [6]uintptr{unix.SECCOMP_SET_MODE_FILTER, 0, at}},
		{"executable memory", unix.SYS_MMAP, [6]uintptr{0, 4096, unix.PROT_READ | unix.PROT_EXEC,
			unix.MAP_PRIVATE | unix.MAP_ANON}},
		{"shared memory", unix.SYS_MMAP, [6]uintptr{0, 4096, unix.PROT_READ | unix.PROT_WRITE,
			unix.MAP_SHARED | unix.MAP_ANON}},
		{"make memory executable", unix.SYS_MPROTECT, [6]uintptr{at &^ 4095, 4096, unix.PROT_READ | unix.PROT_EXEC}},
		{"pkey_mprotect", unix.SYS_PKEY_MPROTECT, [6]uintptr{at &^ 4095, 4096, unix.PROT_READ | unix.PROT_EXEC,
			^uintptr(0)}},
		{"shmget", unix.SYS_SHMGET, [6]uintptr{0, 4096, 0o1600}},
		{"mq_open", unix.SYS_MQ_OPEN, [6]uintptr{text("x"), unix.O_CREAT}},
		{"signals from a pipe to the server", unix.SYS_FCNTL, [6]uintptr{0, unix.F_SETOWN, pid}},
		{"copy a descriptor", unix.SYS_FCNTL, [6]uintptr{0, unix.F_DUPFD, 100}},
		{"ioctl", unix.SYS_IOCTL, [6]uintptr{0, unix.TIOCSTI, at}},
		{"splice", unix.SYS_SPLICE, [6]uintptr{0, 0, 1, 0, 1}},
		{"sethostname", unix.SYS_SETHOSTNAME, [6]uintptr{text("x"), ^uintptr(0)}},
		{"settime", unix.SYS_CLOCK_SETTIME, [6]uintptr{0, 0}},
		{"reboot", unix.SYS_REBOOT, [6]uintptr{}},
		{"load a module", unix.SYS_INIT_MODULE, [6]uintptr{at, 1, at}},
		{"a call that the kernel may have one day", 4000, [6]uintptr{}},
	}
	return append(all, nativeAttempts(file, at)...)
}

// hostile shuts itself in as a worker does, and then tries everything. It writes a line for each attempt.
func hostile() error {
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	ready, err := memoryOf(0)
	if err != nil {
		return err
	}
	confinement := confineSelf(ready)
	if _, _, err := readFrame(in, 1<<20); err != nil {
		return err
	}
	body, err := json.Marshal(greeting{confinement, ready})
	if err != nil {
		return err
	}
	if err := writeFrame(os.Stdout, kindHello, body); err != nil {
		return err
	}
	_, targets, err := readFrame(in, 1<<20)
	if err != nil {
		return err
	}
	fields := strings.Split(targets, "\n")
	victim, err := strconv.Atoi(fields[2])
	if err != nil {
		return err
	}
	for _, a := range attempts(fields[0], fields[1], victim) {
		for _, thread := range []string{"this thread", "new thread"} {
			result, errno := a.make(thread == "new thread")
			if a.number == unix.SYS_CLONE && errno == 0 && result == 0 {
				return errors.New("a second process runs")
			}
			fmt.Fprintf(out, "%s\t%s\t%d\n", a.name, thread, errno)
		}
	}
	fmt.Fprintln(out, "done")
	return out.Flush()
}

// make makes the call, on a thread of its own if need be: the filter must be on all.
func (a attempt) make(apart bool) (result uintptr, errno syscall.Errno) {
	call := func() {
		result, _, errno = unix.RawSyscall6(a.number, a.arguments[0], a.arguments[1], a.arguments[2], a.arguments[3],
			a.arguments[4], a.arguments[5])
	}
	if !apart {
		call()
		return result, errno
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocks: the thread ends with the goroutine
		call()
	}()
	<-done
	return result, errno
}

// What a program that has taken over a worker can ask of the kernel is refused, one call after the other, on every
// thread.
func TestHostileNativeCallsAreRefused(t *testing.T) {
	folder := t.TempDir()
	// what is refused shall be refused by the confinement, not by the folder
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, []byte("text"), 0o666); err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	w := greeted(t, "hostile")
	if err := w.send(kindCompile, fmt.Appendf(nil, "%s\n%s\n%d", file, program, os.Getpid()), patience); err != nil {
		t.Fatal(err)
	}
	if err := w.out.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	tried := 0
	lines := bufio.NewScanner(w.reader)
	for lines.Scan() && lines.Text() != "done" {
		name, rest, _ := strings.Cut(lines.Text(), "\t")
		thread, errno, _ := strings.Cut(rest, "\t")
		tried++
		if !slices.Contains([]string{strconv.Itoa(int(unix.EPERM)), strconv.Itoa(int(unix.ENOSYS))}, errno) {
			t.Errorf("%s, %s: the kernel answered %s", name, thread, errno)
		}
	}
	if want := 2 * len(attempts("", "", 0)); tried != want || lines.Text() != "done" {
		t.Errorf("%d of %d calls tried: %v, %s", tried, want, lines.Err(), w.complaint.String())
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v: %v", entries, err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "text" {
		t.Errorf("the file holds %q: %v", text, err)
	}
}

// starts is a server that starts one worker and says how it is confined.
func starts() error {
	runtime.LockOSThread()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	keepDescriptors()
	w, err := startWorker([]string{self, "worker"}, Options{}.withDefaults().Limits, 0)
	if err != nil {
		return err
	}
	defer w.bury()
	if err := w.greet(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(w.confinement)
}

func run(t *testing.T, command ...string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(within(t, patience), command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Errorf("%v: %v, %s", command, err, out.String())
	}
	return out.String()
}
