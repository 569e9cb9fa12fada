import OpenAI, { type ClientOptions } from 'openai';

type BuildRequest = OpenAI['buildRequest'];

/**
 * The openai client for one kind of request. Its own preparation builds URL, headers and body anew for every call,
 * which cost more than the rest of a run together; here only the body differs. Retries, time-outs and errors stay its own.
 */
export class ChatClient extends OpenAI {
  private readonly url: string;
  private readonly headers: Readonly<Record<string, string>>;

  constructor({
    headers,
    ...options
  }: ClientOptions & { readonly apiKey: string; readonly headers: Record<string, string> }) {
    super(options);
    this.url = this.buildURL('/chat/completions', null);
    this.headers = {
      'user-agent': 'n8n-nodes-universal-ai-agent',
      accept: 'application/json',
      'content-type': 'application/json',
      authorization: `Bearer ${options.apiKey}`,
      ...headers,
    };
  }

  override buildRequest({
    body,
    signal,
    fetchOptions,
    timeout,
  }: Parameters<BuildRequest>[0]): ReturnType<BuildRequest> {
    const req = { method: 'post', headers: this.headers, body, signal, ...fetchOptions };
    // Our transport takes plain headers, which the client itself never looks into.
    const built = { req: req as object, url: this.url, timeout: timeout ?? this.timeout };
    return Promise.resolve(built as Awaited<ReturnType<BuildRequest>>);
  }
}
