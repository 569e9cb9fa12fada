import { tryParseJson } from '../util/json';
import { MAX_MESSAGE_BYTES, MAX_MESSAGE_VALUES } from './http-fetch';

/** Node's own WebSocket takes headers, unlike that of browsers. */
type OpenSocket = new (url: URL, options: { protocols: string[]; headers: Record<string, string> }) => WebSocket;

/** JSON-RPC over a WebSocket, one message a frame; of the first source of this project, not of the specification. */
export class WebSocketTransport {
  onmessage: ((message: never) => void) | undefined;
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  private socket: WebSocket | undefined;

  constructor(
    private readonly url: URL,
    private readonly headers: Record<string, string>,
  ) {}

  start(): Promise<void> {
    const socket = new (WebSocket as unknown as OpenSocket)(this.url, { protocols: ['mcp'], headers: this.headers });
    this.socket = socket;
    return new Promise((resolve, reject) => {
      socket.addEventListener('open', () => resolve());
      socket.addEventListener('error', () => {
        const error = new Error(`the WebSocket to ${this.url.host} failed`);
        this.onerror?.(error);
        reject(error);
      });
      socket.addEventListener('close', () => this.onclose?.());
      socket.addEventListener('message', (event) => this.receive(event.data));
    });
  }

  send(message: unknown): Promise<void> {
    if (this.socket?.readyState !== WebSocket.OPEN) return Promise.reject(new Error('the WebSocket is not open'));
    this.socket.send(JSON.stringify(message));
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.socket?.close();
    return Promise.resolve();
  }

  private receive(data: unknown): void {
    if (typeof data !== 'string' || data.length > MAX_MESSAGE_BYTES) return void this.close();
    const parsed = tryParseJson(data, MAX_MESSAGE_VALUES);
    if (parsed.ok) this.onmessage?.(parsed.value as never);
    else this.onerror?.(new Error(`a message is not JSON: ${parsed.reason}`));
  }
}
