/** Seccomp: the system calls that no thread of this process may make any more. */
import { ptr } from 'bun:ffi'
import { systemCall } from './libc.ts'

/** Numbers of one call on x64 and arm64; null where the machine has no such call. */
type CallNumbers = readonly [x64: number | null, arm64: number | null]

/** Refused with EPERM, whatever their arguments. Adding a line refuses one more. */
const REFUSED: Readonly<Record<string, CallNumbers>> = {
  // other machines and other processes
  socket: [41, 198],
  socketpair: [53, 199],
  connect: [42, 203],
  bind: [49, 200],
  listen: [50, 201],
  accept: [43, 202],
  accept4: [288, 242],
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  pidfd_open: [434, 434],
  pidfd_getfd: [438, 438],
  pidfd_send_signal: [424, 424],
  kcmp: [312, 272],
  tkill: [200, 130],
  setpriority: [141, 140],
  ioprio_set: [251, 30],
  shmget: [29, 194],
  msgget: [68, 186],
  semget: [64, 190],
  mq_open: [240, 180],
  // other programs and other users
  execve: [59, 221],
  execveat: [322, 281],
  fork: [57, null],
  vfork: [58, null],
  setuid: [105, 146],
  setgid: [106, 144],
  setreuid: [113, 145],
  setregid: [114, 143],
  setgroups: [116, 159],
  setresuid: [117, 147],
  setresgid: [119, 149],
  capset: [126, 91],
  // calls that Landlock does not check
  chmod: [90, null],
  fchmod: [91, 52],
  fchmodat: [268, 53],
  fchmodat2: [452, 452],
  chown: [92, null],
  fchown: [93, 55],
  lchown: [94, null],
  fchownat: [260, 54],
  setxattr: [188, 5],
  lsetxattr: [189, 6],
  fsetxattr: [190, 7],
  removexattr: [197, 14],
  lremovexattr: [198, 15],
  fremovexattr: [199, 16],
  utime: [132, null],
  utimes: [235, null],
  futimesat: [261, null],
  utimensat: [280, 88],
  mknod: [133, null],
  mknodat: [259, 33],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  // the system
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  unshare: [272, 97],
  setns: [308, 268],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  personality: [135, 92],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  adjtimex: [159, 171],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  iopl: [172, null],
  ioperm: [173, null],
}

/** Refused as if the kernel did not have them: the C library and the runtime have another way for each. */
const MISSING: Readonly<Record<string, CallNumbers>> = {
  // Its flags are behind a pointer, where no filter sees them; `clone` takes its place.
  clone3: [435, 435],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
}

/** Only with the own process as first argument. */
const OWN_PROCESS_ONLY: Readonly<Record<string, CallNumbers>> = {
  kill: [62, 129],
  tgkill: [234, 131],
  rt_sigqueueinfo: [129, 138],
  rt_tgsigqueueinfo: [297, 240],
}

/** Only with the own process, or 0 for it, as first argument. */
const PRLIMIT: CallNumbers = [302, 261]
/** Only for a further thread. */
const CLONE: CallNumbers = [56, 220]
const CLONE_THREAD = 0x1_0000

const SECCOMP: CallNumbers = [317, 277]
const SET_MODE_FILTER = 1
const FLAG_TSYNC = 1

const AUDIT_ARCH = { x64: 0xc000_003e, arm64: 0xc000_00b7 } as const
/** From here on x64 has the calls of its 32-bit form. */
const X32_CALLS = 0x4000_0000

const EPERM = 1
const ENOSYS = 38
const RETURN_ALLOW = 0x7fff_0000
const RETURN_ERRNO = 0x0005_0000
const RETURN_KILL = 0x8000_0000

// Instructions of the filter's machine.
const LOAD = 0x20
const JUMP_EQUAL = 0x15
const JUMP_AT_LEAST = 0x35
const JUMP_SET = 0x45
const RETURN = 0x06
/** Offsets in the filter's view of a call (`seccomp_data`). */
const CALL = 0
const ARCH = 4
const FIRST_ARGUMENT = 16

/** Code, jump when true, jump when false, operand. */
type Instruction = {
  readonly code: number
  readonly yes: number
  readonly no: number
  readonly k: number
}

/**
 * Refuses the calls above to every thread of this process and to all that it starts, for good. It needs "no new
 * privileges" first. False where the kernel, or a container, does not let it.
 */
export function refuseSystemCalls(): boolean {
  const { arch } = process
  if (arch !== 'x64' && arch !== 'arm64') return false
  const program = filterFor(arch, process.pid)
  const bytes = new DataView(new ArrayBuffer(program.length * 8))
  program.forEach(({ code, yes, no, k }, index) => {
    bytes.setUint16(index * 8, code, true)
    bytes.setUint8(index * 8 + 2, yes)
    bytes.setUint8(index * 8 + 3, no)
    bytes.setUint32(index * 8 + 4, k, true)
  })
  const header = new BigUint64Array([BigInt(program.length), BigInt(ptr(bytes))])
  const number = SECCOMP[arch === 'x64' ? 0 : 1] ?? -1
  return systemCall(number, SET_MODE_FILTER, FLAG_TSYNC, Number(ptr(header))) === 0
}

/** The number of a refused call on this machine; -1 where there is none. */
export function callNumber(name: 'ptrace' | 'unshare'): number {
  return REFUSED[name]?.[process.arch === 'x64' ? 0 : 1] ?? -1
}

/** Every refusal returns at once, so that no jump is longer than over the lines of its own call. */
function filterFor(arch: 'arm64' | 'x64', pid: number): readonly Instruction[] {
  const column = arch === 'x64' ? 0 : 1
  const numbers = (calls: Readonly<Record<string, CallNumbers>>): readonly number[] =>
    Object.values(calls).flatMap((call) => call[column] ?? [])
  const refused = giveBack(RETURN_ERRNO | EPERM)
  const allowed = giveBack(RETURN_ALLOW)
  /** Runs `lines`, which end in a return, for one call. */
  const forCall = (number: number, lines: readonly Instruction[]): readonly Instruction[] => [
    jump(JUMP_EQUAL, number, 0, lines.length),
    ...lines,
  ]
  const firstArgument = (tests: readonly Instruction[]): readonly Instruction[] => [
    load(FIRST_ARGUMENT),
    ...tests,
    refused,
    allowed,
  ]
  return [
    load(ARCH),
    jump(JUMP_EQUAL, AUDIT_ARCH[arch], 1, 0),
    giveBack(RETURN_KILL),
    load(CALL),
    ...(arch === 'x64' ? [jump(JUMP_AT_LEAST, X32_CALLS, 0, 1), refused] : []),
    ...numbers(REFUSED).flatMap((number) => forCall(number, [refused])),
    ...numbers(MISSING).flatMap((number) => forCall(number, [giveBack(RETURN_ERRNO | ENOSYS)])),
    ...numbers(OWN_PROCESS_ONLY).flatMap((number) =>
      forCall(number, firstArgument([jump(JUMP_EQUAL, pid, 1, 0)])),
    ),
    ...forCall(
      PRLIMIT[column] ?? 0,
      firstArgument([jump(JUMP_EQUAL, pid, 2, 0), jump(JUMP_EQUAL, 0, 1, 0)]),
    ),
    ...forCall(CLONE[column] ?? 0, firstArgument([jump(JUMP_SET, CLONE_THREAD, 1, 0)])),
    allowed,
  ]
}

const load = (offset: number): Instruction => ({ code: LOAD, yes: 0, no: 0, k: offset })
const giveBack = (value: number): Instruction => ({ code: RETURN, yes: 0, no: 0, k: value >>> 0 })
const jump = (code: number, k: number, yes: number, no: number): Instruction => ({
  code,
  yes,
  no,
  k,
})
