curl -X POST http://localhost:8080/v1/chat/completions -d '{
  "messages": [
    {"role": "user", "content": "What is 15315*3/55 ?"}
  ],
  "tools": [
    {
      "type": "function",
      "function": {
        "name": "eval_python",
        "parameters": {
          "properties": {
            "expression": {"type": "string"}
          }
        }
      }
    }
  ],
  "max_tokens": 100
}' -N
