"""CopilotKit's remote endpoints: what they are asked, and the JSON lines that their agents answer with.

describing   what an endpoint offers: actions and agents
asking       an ask → what an agent is sent
messages     its messages → events, where they were not streamed
langgraph    lines of an agent of the type `langgraph`: LangChain's events, and CopilotKit's own among them
runtime      lines of an agent of the type `crewai`: events of CopilotKit's runtime
"""
