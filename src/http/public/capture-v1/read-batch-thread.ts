/** The thread that reads long batches of the newer capture protocol, so that nothing else waits for them. */
import { answerJobs } from '../../../threads/answer-jobs.ts'
import { readBatch, type SentBatch } from './read-batch.ts'

answerJobs((sent: SentBatch) => readBatch(sent))
