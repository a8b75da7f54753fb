/** Frames come out of a pipe as they went in, however the pipe cuts them. */
import { describe, expect, test } from 'bun:test'
import { array, assert, integer, nat, property, record, string, uint8Array } from 'fast-check'
import { encodeFrame, frameReader } from '../../../src/query/engine/protocol.ts'

describe('frames', () => {
  test('survive any cutting of the byte stream', () => {
    const frame = record({
      head: record({ kind: string(), id: nat() }),
      rest: uint8Array({ maxLength: 300 }),
    })
    assert(
      property(array(frame), array(integer({ min: 1, max: 50 })), (frames, cuts) => {
        const stream = Buffer.concat(frames.flatMap(({ head, rest }) => encodeFrame(head, [rest])))
        const read = frameReader<object>()
        const heard = piecesOf(stream, cuts).flatMap((piece) => [...read(piece)])
        expect(heard.map(({ head, rest }) => ({ head, rest: [...rest] }))).toEqual(
          frames.map(({ head, rest }) => ({ head, rest: [...rest] })),
        )
      }),
    )
  })
})

/** The stream in pieces of the given lengths, over and over. */
function piecesOf(stream: Uint8Array, lengths: readonly number[]): Uint8Array[] {
  const pieces: Uint8Array[] = []
  for (let at = 0, turn = 0; at < stream.length; turn++) {
    const length = lengths[turn % lengths.length] ?? stream.length
    pieces.push(stream.subarray(at, at + length))
    at += length
  }
  return pieces
}
