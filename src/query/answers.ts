/** The query process at work: answers questions, interrupts them, takes new manifests. */
import type { DuckDBConnection } from '@duckdb/node-api'
import { answerQuestion } from './answer.ts'
import { engineRefusal } from './engine-errors.ts'
import type { FromQueryProcess, SentQuestion, ToQueryProcess } from './frames.ts'
import { OpenProjects, type ProjectsOptions } from './open-projects.ts'

export type AnswersOptions = ProjectsOptions & { readonly result_bytes_max: number }

export type Send = (head: FromQueryProcess, rest?: readonly Uint8Array[]) => void

/** A question under way; `connection` is there while the engine has it, before that `stop` ends the wait. */
type Running = {
  interrupted: boolean
  connection: DuckDBConnection | null
  readonly stop: (error: Error) => void
}

export class Answers {
  readonly #projects: OpenProjects
  readonly #result_bytes_max: number
  readonly #send: Send
  readonly #running = new Map<number, Running>()

  constructor(options: AnswersOptions, send: Send) {
    this.#projects = new OpenProjects(options)
    this.#result_bytes_max = options.result_bytes_max
    this.#send = send
  }

  /** Never throws: whatever goes wrong with a question is sent back as a refusal. */
  async handle(message: ToQueryProcess): Promise<void> {
    switch (message.kind) {
      case 'ask':
        return this.#ask(message.id, message.question)
      case 'interrupt':
        return this.#interrupt(message.id)
      case 'adopt':
        await this.#projects.adoptManifest()
        return this.#send({ kind: 'adopted', id: message.id })
      case 'reopen':
        return this.#projects.reopen(message.project_id)
    }
  }

  async #ask(id: number, question: SentQuestion): Promise<void> {
    const stopped = Promise.withResolvers<never>()
    const running: Running = { interrupted: false, connection: null, stop: stopped.reject }
    this.#running.set(id, running)
    try {
      await Promise.race([this.#answer(id, question, running), stopped.promise])
    } catch (error) {
      const { code, detail } = engineRefusal(error)
      this.#send({ kind: 'refused', id, code, detail })
    } finally {
      this.#running.delete(id)
    }
  }

  async #answer(id: number, question: SentQuestion, running: Running): Promise<void> {
    const started_at = performance.now()
    await this.#projects.use(question.project_id, question.reads, async (store) => {
      const follow_ms = performance.now() - started_at
      const { connection, release } = await store.connect()
      running.connection = connection
      try {
        if (running.interrupted) throw new Error(INTERRUPTED)
        const rows = await answerQuestion(connection, question, this.#result_bytes_max)
        const { bytes, row_count, has_more, execute_ms, read_ms } = rows
        const timings = { follow_ms, execute_ms, read_ms }
        this.#send({ kind: 'answer', id, row_count, has_more, timings }, bytes)
      } finally {
        running.connection = null
        release()
      }
    })
  }

  #interrupt(id: number): void {
    const running = this.#running.get(id)
    if (running === undefined) return
    running.interrupted = true
    if (running.connection === null) running.stop(new Error(INTERRUPTED))
    else running.connection.interrupt()
  }
}

/** As the engine itself says it. */
const INTERRUPTED = 'INTERRUPT Error: Interrupted!'
