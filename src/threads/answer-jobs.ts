/** The thread's side of a DeadlineWorker: one call of `answerJobs` makes a Worker's file answer jobs. */
import { Refusal } from '../errors.ts'
import { type JobMessage, type JobResult, refusalToData } from './messages.ts'

declare const self: Worker

type AnswerWork = (input: never) => unknown

/** Answers every job with what `work` returns for its input, or resolves to; both are plain data. */
export function answerJobs(work: AnswerWork): void {
  self.addEventListener('message', (event: MessageEvent<JobMessage<never>>) => {
    void resultOf(event.data, work).then((result) => self.postMessage(result, []))
  })
}

async function resultOf(
  { id, input }: JobMessage<never>,
  work: AnswerWork,
): Promise<JobResult<unknown>> {
  try {
    return { kind: 'done', id, output: await work(input) }
  } catch (error) {
    if (error instanceof Refusal) return { kind: 'refused', id, refusal: refusalToData(error) }
    const message = error instanceof Error ? String(error.stack) : String(error)
    return { kind: 'failed', id, message }
  }
}
