/** The failure of a single flag; the other flags are evaluated. */

/** The reason that clients see. */
export type FailureCode =
  | 'cohort_cycle'
  | 'cohort_too_deep'
  | 'cohort_too_large'
  | 'dependency_cycle'
  | 'evaluation_failed'
  | 'invalid_definition'
  | 'missing_dependency'
  | 'store_unavailable'
  | 'too_much_work'
  | 'value_too_long'

/** Ends the evaluation of one flag; the loop over all flags catches it and goes on with the next. */
export class FlagFailure extends Error {
  override readonly name = 'FlagFailure'
  readonly code: FailureCode

  constructor(code: FailureCode, detail: string = code) {
    super(detail)
    this.code = code
  }
}
