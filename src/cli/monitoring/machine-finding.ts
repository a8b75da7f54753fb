/** A finding of `doctor` that is not about the data. */

/** A problem, and advice on what to do about it. */
export type MachineFinding = {
  readonly subject:
    | 'certificate'
    | 'clock'
    | 'disk'
    | 'limits'
    | 'memory'
    | 'permissions'
    | 'server'
  /** A fault has to be mended now; a warning can wait. */
  readonly severity: 'fault' | 'warning'
  readonly fault: string
  readonly advice: string
}
